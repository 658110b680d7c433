package faults_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/once"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestEngineOnce checks that a result of any size reaches a waiter and later callers, also if the answer to the release is lost.
func TestEngineOnce(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		a, dbA := locktest.Open(t, table, "a", locktest.Fast)
		b, _ := locktest.Open(t, table, "b", locktest.Fast)
		for entity, value := range map[string]string{"empty": "", "short": "it", "long": strings.Repeat("x", once.MaxSize)} {
			key := queuelock.Key{Entity: entity}
			computing, waiting := make(chan struct{}), make(chan struct{})
			compute := func(context.Context, *queuelock.Lock) ([]byte, error) {
				close(computing)
				<-waiting
				return []byte(value), nil
			}
			never := func(context.Context, *queuelock.Lock) ([]byte, error) {
				t.Error("it is computed again")
				return nil, nil
			}
			check := func(c *queuelock.Client, fn once.Func, opts ...queuelock.Option) {
				got, err := once.Do(t.Context(), c, key, time.Hour, fn, opts...)
				if err != nil || string(got) != value {
					t.Errorf("%s: %d bytes, %v", entity, len(got), err)
				}
			}
			dbA.Inject(queuelocktest.LoseResponse().Mentioning("released").Times(1))
			var all sync.WaitGroup
			all.Go(func() { check(a, compute) })
			<-computing
			all.Go(func() {
				waits := sync.OnceFunc(func() { close(waiting) })
				check(b, never, queuelock.OnProgress(func(queuelock.Progress) { waits() }))
			})
			all.Wait()
			if r := locktest.Must(a.Viewer().Inspect(t.Context(), key)).Result; !r.Until.IsZero() { // else the engine has no dates
				check(a, never)
			}
		}
	})
}
