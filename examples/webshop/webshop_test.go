package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
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

// TestShop sends orders to two processes.
func TestShop(t *testing.T) {
	t.Run("PlacesOrdersOfACustomerOneAtATime", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var most atomic.Int32
			table, save := queuelocktest.NewTable(t), takes(time.Second, &most)
			processes := []process{newProcess(t, table, "a", time.Minute, save), newProcess(t, table, "b", time.Minute, save)}
			status := make(chan int)
			for i := range 6 {
				go func() { status <- processes[i%2].order(t, "anne").StatusCode }()
			}
			for range 6 {
				if got := <-status; got != http.StatusCreated {
					t.Errorf("status %d", got)
				}
			}
			if most.Load() != 1 {
				t.Errorf("%d orders at the same time", most.Load())
			}
		})
	})
	t.Run("PlacesOrdersOfTwoCustomersAtATime", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var most atomic.Int32
			p := newProcess(t, queuelocktest.NewTable(t), "a", 0, takes(time.Second, &most))
			status := make(chan int)
			go func() { status <- p.order(t, "anne").StatusCode }()
			go func() { status <- p.order(t, "bert").StatusCode }()
			if a, b := <-status, <-status; a != http.StatusCreated || b != http.StatusCreated || most.Load() != 2 {
				t.Errorf("status %d and %d, %d at the same time", a, b, most.Load())
			}
		})
	})
	t.Run("SaysWhenABusyCustomerMayTryAgain", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var most atomic.Int32
			table, save := queuelocktest.NewTable(t), takes(20*time.Second, &most)
			a, b := newProcess(t, table, "a", 0, save), newProcess(t, table, "b", time.Second, save)
			a.order(t, "anne") // so that the time of an order is known
			done := make(chan int)
			go func() { done <- a.order(t, "anne").StatusCode }()
			synctest.Wait()
			refused := b.order(t, "anne")
			after, err := strconv.Atoi(refused.Header.Get("Retry-After"))
			if refused.StatusCode != http.StatusConflict || err != nil || after < 15 || after > 25 {
				t.Errorf("%s, Retry-After %q; want 409 and about 19", refused.Status, refused.Header.Get("Retry-After"))
			}
			<-done
		})
	})
	t.Run("AnswersAnOutageWith503", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var most atomic.Int32
			p := newProcess(t, queuelocktest.NewTable(t), "a", time.Second, takes(0, &most))
			p.net.Partition()
			refused := p.order(t, "anne")
			if refused.StatusCode != http.StatusServiceUnavailable || refused.Header.Get("Retry-After") == "" {
				t.Errorf("%s, Retry-After %q; want 503", refused.Status, refused.Header.Get("Retry-After"))
			}
			p.net.Heal()
		})
	})
	t.Run("EndsTheWorkOfALostLock", func(t *testing.T) {
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
	})
}
