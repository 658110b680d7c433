package queuelock_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

type gate struct {
	entered chan struct{} // closed by the first caller
	opened  chan struct{}
	enter   func()
	open    func()
}

func newGate(t *testing.T) *gate {
	g := &gate{entered: make(chan struct{}), opened: make(chan struct{})}
	g.enter = sync.OnceFunc(func() { close(g.entered) })
	g.open = sync.OnceFunc(func() { close(g.opened) })
	t.Cleanup(g.open)
	return g
}

func (g *gate) pass() { g.enter(); <-g.opened }

// blockedLog is a slog.Handler that blocks in every method that a Logger calls.
type blockedLog struct{ *gate }

func (l blockedLog) Enabled(context.Context, slog.Level) bool  { l.pass(); return true }
func (l blockedLog) Handle(context.Context, slog.Record) error { l.pass(); return nil }
func (l blockedLog) WithAttrs([]slog.Attr) slog.Handler        { return l }
func (l blockedLog) WithGroup(string) slog.Handler             { return l }

func TestBlockedLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		g := newGate(t)
		a, dbA := open(t, table, "a", queuelock.Config{})
		b, db := open(t, table, "b", queuelock.Config{Logger: slog.New(blockedLog{g})})
		acquire(t, a, waitpolicy.NoWait)
		waiting := queueUp(t.Context(), b, waitpolicy.Forever)
		time.Sleep(time.Second)
		db.Inject(queuelocktest.Refuse(queuelocktest.Throttling).Times(10))
		time.Sleep(time.Minute)
		<-g.entered // by the requests that failed
		died := time.Now()
		dbA.Partition()
		got := <-waiting // which logs the eviction
		if took := got.at.Sub(died); got.err != nil || took > 70*time.Second {
			t.Fatalf("after %v: %v", took, got.err)
		}
		db.Partition()
		<-got.lock.Done() // the loss is logged
		db.Heal()
		begun := time.Now()
		if err := b.Close(t.Context()); err == nil || time.Since(begun) > 5*time.Second {
			t.Errorf("Close beside a blocked Logger: %v after %v", err, time.Since(begun))
		}
		g.open()
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func (j *journal) says(words string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Contains(j.text.String(), words)
}
