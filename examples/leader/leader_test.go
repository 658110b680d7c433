package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

// term is one term of a leader.
type term struct {
	number ticket.Number
	from   time.Time
	to     chan time.Time
}

// member is a candidate in the background.
type member struct {
	net    *queuelocktest.Client
	terms  chan term
	result chan error
	leave  context.CancelFunc

	mu  sync.Mutex
	out bytes.Buffer
}

func (m *member) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.out.Write(p)
}

func (m *member) logged(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Contains(m.out.String(), text)
}

// join starts a candidate that leads until its context ends.
func join(t *testing.T, table *queuelocktest.Table, name string) *member {
	m := &member{net: table.Client(name), terms: make(chan term, 10), result: make(chan error, 1)}
	locks, err := queuelock.New(m.net, table.Name(), queuelock.Config{TTL: 10 * time.Second, Owner: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locks.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	ctx, leave := context.WithCancel(t.Context())
	m.leave = leave
	c := candidate{service: "scheduler", locks: locks, log: slog.New(slog.NewTextHandler(m, nil)), pause: 5 * time.Second}
	go func() {
		m.result <- c.run(ctx, func(ctx context.Context, number ticket.Number) error {
			now := term{number, time.Now(), make(chan time.Time, 1)}
			m.terms <- now
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			now.to <- time.Now()
			return ctx.Err()
		})
	}()
	return m
}

// next returns the next value, and fails if nothing happens for hours.
func next[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(2 * time.Hour):
		t.Fatal("nothing happens")
		panic("unreachable")
	}
}

func (m *member) left(t *testing.T) {
	m.leave()
	if err := next(t, m.result); err != nil {
		t.Errorf("after an orderly end: %v", err)
	}
}

// inTable runs a subtest in a bubble of its own, with a table.
func inTable(t *testing.T, name string, f func(t *testing.T, table *queuelocktest.Table)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, queuelocktest.NewTable(t)) })
	})
}

func TestLeader(t *testing.T) {
	inTable(t, "NextLeadsAfterLossEndedTheWork", func(t *testing.T, table *queuelocktest.Table) {
		first := join(t, table, "first")
		former := next(t, first.terms)
		second := join(t, table, "second")
		synctest.Wait() // for its place in the queue
		first.net.Partition()
		later := next(t, second.terms)
		if ended := next(t, former.to); ended.After(later.from) {
			t.Errorf("the work ended %v after the next leader began", ended.Sub(later.from))
		}
		if !former.number.Less(later.number) {
			t.Errorf("term %s follows term %s", later.number, former.number)
		}
		if want := "leadership lost"; !first.logged(want) || !first.logged("cause=unreachable") {
			t.Errorf("no report of the loss:\n%s", first.out.String())
		}

		first.net.Heal() // it takes part again
		synctest.Wait()
		second.left(t)
		if again := next(t, first.terms); !later.number.Less(again.number) {
			t.Errorf("term %s follows term %s", again.number, later.number)
		}
		first.left(t)
	})
	inTable(t, "OrderlyEndLetsTheNextLead", func(t *testing.T, table *queuelocktest.Table) {
		first := join(t, table, "first")
		former := next(t, first.terms)
		second := join(t, table, "second")
		synctest.Wait()
		first.left(t)
		later := next(t, second.terms)
		if gap := later.from.Sub(next(t, former.to)); gap < 0 || gap > 2*time.Second {
			t.Errorf("the next leader began %v after the end of the first", gap)
		}
		second.left(t)
	})
	inTable(t, "WaitsForTheTable", func(t *testing.T, table *queuelocktest.Table) {
		outage := table.Inject(queuelocktest.Refuse(queuelocktest.InternalError))
		first := join(t, table, "first")
		<-time.After(5 * time.Minute)
		outage.Remove()
		next(t, first.terms)
		if !first.logged("no election") {
			t.Errorf("no report of the outage:\n%s", first.out.String())
		}
		first.left(t)
	})
	inTable(t, "EndsWithTheErrorOfItsWork", func(t *testing.T, table *queuelocktest.Table) {
		locks, err := queuelock.New(table.Client("first"), table.Name(), queuelock.Config{})
		if err != nil {
			t.Fatal(err)
		}
		failed := errors.New("no such calendar")
		c := candidate{service: "scheduler", locks: locks, log: slog.New(slog.DiscardHandler)}
		err = c.run(t.Context(), func(context.Context, ticket.Number) error { return failed })
		if !errors.Is(err, failed) {
			t.Errorf("%v, want the error of the work", err)
		}
		if err := locks.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
