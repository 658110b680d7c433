package main

import (
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
)

// host is a machine with one job.
type host struct {
	job
	net *queuelocktest.Client
	out *output
}

func newHost(t *testing.T, table *queuelocktest.Table, name string) host {
	net, out := table.Client(name), &output{}
	locks, err := queuelock.New(net, table.Name(), queuelock.Config{Owner: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locks.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return host{job{name: name, resource: "warehouse", wait: 10 * time.Minute, locks: locks, log: slog.New(slog.NewTextHandler(out, nil))}, net, out}
}

type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) contains(part string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Contains(o.text.String(), part)
}

// turn is one run of a job.
type turn struct {
	began    chan struct{} // closed when the work begins
	done     chan error
	from, to time.Time // of the work
}

// start runs the job in the background. Its work takes so long.
func (h host) start(t *testing.T, takes time.Duration) *turn {
	r := &turn{began: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		r.done <- h.run(t.Context(), func(ctx context.Context) error {
			r.from = time.Now()
			close(r.began)
			defer func() { r.to = time.Now() }()
			select {
			case <-time.After(takes):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	return r
}

// inTable runs a subtest in a bubble of its own, with a table.
func inTable(t *testing.T, name string, f func(t *testing.T, table *queuelocktest.Table)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, queuelocktest.NewTable(t)) })
	})
}

// TestBatch lets two jobs share a lock. The second begins while the first runs.
func TestBatch(t *testing.T) {
	inTable(t, "SecondQueuesAndRuns", func(t *testing.T, table *queuelocktest.Table) {
		report, reindex := newHost(t, table, "report"), newHost(t, table, "reindex")
		first := report.start(t, 5*time.Minute)
		<-first.began
		second := reindex.start(t, time.Minute)
		if err := errors.Join(<-first.done, <-second.done); err != nil {
			t.Fatal(err)
		}
		if wait := second.from.Sub(first.to); wait < 0 || wait > 5*time.Second {
			t.Errorf("the second began %v after the end of the first", wait)
		}
		if !reindex.out.contains("msg=queued job=reindex position=1 behind=report") {
			t.Errorf("the second reports no place:\n%s", &reindex.out.text)
		}
	})
	inTable(t, "GivesUpAfterItsWait", func(t *testing.T, table *queuelocktest.Table) {
		report, reindex := newHost(t, table, "report"), newHost(t, table, "reindex")
		first := report.start(t, 20*time.Minute)
		<-first.began
		second := reindex.start(t, time.Minute)
		if err := <-second.done; exitCode(err) != 75 || !second.from.IsZero() {
			t.Errorf("%v, and the work began at %v", err, second.from)
		}
		if err := <-first.done; err != nil {
			t.Error(err)
		}
	})
	inTable(t, "LossInterruptsTheFirst", func(t *testing.T, table *queuelocktest.Table) {
		report, reindex := newHost(t, table, "report"), newHost(t, table, "reindex")
		first := report.start(t, 5*time.Minute)
		<-first.began
		second := reindex.start(t, time.Minute)
		synctest.Wait() // for its place in the queue
		report.net.Partition()
		if err := <-first.done; exitCode(err) != 70 {
			t.Errorf("%v, want a loss", err)
		}
		if err := <-second.done; err != nil {
			t.Error(err)
		}
		if gap := second.from.Sub(first.to); gap < 0 || gap > time.Minute {
			t.Errorf("the second began %v after the first was interrupted", gap)
		}
		report.net.Heal()
	})
}
