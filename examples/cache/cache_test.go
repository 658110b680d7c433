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

// process returns the cache of a process, and its network.
func (s *service) process(t *testing.T, table *queuelocktest.Table, name string) (cache, *queuelocktest.Client) {
	net := table.Client(name)
	locks, err := queuelock.New(net, table.Name(), queuelock.Config{Owner: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		net.Heal()
		if err := locks.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return cache{locks: locks, ttl: time.Minute, ask: s.ask}, net
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

func TestCache(t *testing.T) {
	inTable := func(name string, test func(*testing.T, *queuelocktest.Table)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, queuelocktest.NewTable(t)) })
		})
	}
	inTable("AsksOnceInATTL", func(t *testing.T, table *queuelocktest.Table) {
		var s service
		var all []cache
		for i := range 5 {
			c, _ := s.process(t, table, fmt.Sprint("p", i))
			all = append(all, c)
		}
		want(t, 20, 1, all...)
		time.Sleep(30 * time.Second)
		want(t, 20, 1, all...)
		time.Sleep(time.Minute)
		want(t, 20, 2, all...)
	})
	inTable("AsksAgainAfterAnError", func(t *testing.T, table *queuelocktest.Table) {
		var s service
		a, _ := s.process(t, table, "a")
		b, _ := s.process(t, table, "b")
		s.fails.Store(true)
		if _, err := a.forecast(t.Context(), "Oslo"); !errors.Is(err, errDown) {
			t.Errorf("%v, want %v", err, errDown)
		}
		s.fails.Store(false)
		want(t, 1, 2, b)
	})
	inTable("FollowsAProcessThatCrashes", func(t *testing.T, table *queuelocktest.Table) {
		var s service
		a, net := s.process(t, table, "a")
		b, _ := s.process(t, table, "b")
		go func() { _, _ = a.forecast(t.Context(), "Oslo") }()
		time.Sleep(time.Second)
		net.Partition()
		begun := time.Now()
		want(t, 3, 2, b)
		if took := time.Since(begun); took < 55*time.Second || took > 75*time.Second {
			t.Errorf("it took %v, want about a lease", took)
		}
	})
}
