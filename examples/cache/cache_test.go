package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
)

// service counts the questions.
type service struct {
	asked atomic.Int32
	fails atomic.Bool
}

var errDown = errors.New("the service is down")

func (s *service) ask(ctx context.Context, _ string) (forecast, error) {
	n := s.asked.Add(1)
	select {
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
		return forecast{}, context.Cause(ctx)
	}
	if s.fails.Load() {
		return forecast{}, errDown
	}
	return forecast{Degrees: int(n)}, nil
}

// process returns the cache of a process.
func (s *service) process(t *testing.T, table *queuelocktest.Table, name string) cache {
	locks, err := queuelock.New(table.Client(name), table.Name(), queuelock.Config{Owner: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locks.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return cache{locks: locks, ttl: time.Minute, ask: s.ask}
}

// want checks that so many callers of each process get that answer.
func want(t *testing.T, callers, degrees int, processes ...cache) {
	t.Helper()
	var all sync.WaitGroup
	for _, c := range processes {
		for range callers {
			all.Go(func() {
				if f, err := c.forecast(t.Context(), "Oslo"); err != nil || f.Degrees != degrees {
					t.Errorf("%+v, %v, want %d degrees", f, err, degrees)
				}
			})
		}
	}
	all.Wait()
}

// TestCache asks once in a ttl, and again after an error.
func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s service
		var all []cache
		table := queuelocktest.NewTable(t)
		for i := range 5 {
			all = append(all, s.process(t, table, fmt.Sprint("p", i)))
		}
		s.fails.Store(true)
		if _, err := all[0].forecast(t.Context(), "Oslo"); !errors.Is(err, errDown) {
			t.Errorf("%v, want %v", err, errDown)
		}
		s.fails.Store(false)
		want(t, 20, 2, all...)
		time.Sleep(30 * time.Second)
		want(t, 20, 2, all...)
		time.Sleep(time.Minute)
		want(t, 20, 3, all...)
	})
}
