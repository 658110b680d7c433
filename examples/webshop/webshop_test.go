package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
)

// process is one of several that serve the shop.
type process struct {
	net    *queuelocktest.Client
	handle http.Handler
}

func newProcess(t *testing.T, table *queuelocktest.Table, name string, wait time.Duration, save func(context.Context, *queuelock.Lock) error) process {
	net := table.Client(name)
	locks, err := queuelock.New(net, table.Name(), queuelock.Config{Owner: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locks.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return process{net, shop{locks: locks, wait: wait, log: slog.New(slog.DiscardHandler), save: save}.handler()}
}

// order sends an order of the customer, without a socket.
func (p process) order(t *testing.T, customer string) *http.Response {
	w := httptest.NewRecorder()
	p.handle.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/"+customer+"/orders", http.NoBody))
	return w.Result()
}

// takes returns a save that takes so long, and counts those at the same time.
func takes(d time.Duration, most *atomic.Int32) func(context.Context, *queuelock.Lock) error {
	var inside atomic.Int32
	return func(ctx context.Context, _ *queuelock.Lock) error {
		if now := inside.Add(1); now > most.Load() {
			most.Store(now)
		}
		defer inside.Add(-1)
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// TestOrders sends orders of three customers to two processes.
func TestOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most atomic.Int32
		table, save := queuelocktest.NewTable(t), takes(time.Second, &most)
		processes := []process{newProcess(t, table, "a", time.Minute, save), newProcess(t, table, "b", time.Minute, save)}
		status := make(chan int)
		for i := range 12 {
			customer := []string{"anne", "bert", "cleo"}[i%3]
			go func() { status <- processes[i%2].order(t, customer).StatusCode }()
		}
		for range 12 {
			if got := <-status; got != http.StatusCreated {
				t.Errorf("status %d", got)
			}
		}
		if most.Load() != 3 {
			t.Errorf("%d orders at the same time, want one of each customer", most.Load())
		}
	})
}

// TestLoss ends the work of a lost lock before another order of the customer begins.
func TestLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most atomic.Int32
		table, save := queuelocktest.NewTable(t), takes(5*time.Minute, &most)
		a, b := newProcess(t, table, "a", time.Minute, save), newProcess(t, table, "b", 2*time.Minute, save)
		first, second := make(chan int), make(chan int)
		go func() { first <- a.order(t, "anne").StatusCode }()
		synctest.Wait()
		a.net.Partition()
		go func() { second <- b.order(t, "anne").StatusCode }()
		if lost, placed := <-first, <-second; lost != http.StatusServiceUnavailable || placed != http.StatusCreated || most.Load() != 1 {
			t.Errorf("status %d and %d, %d orders at the same time", lost, placed, most.Load())
		}
		a.net.Heal()
	})
}
