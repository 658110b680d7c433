package hold_test

import (
	"context"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestSettlePanic checks that a call during which the SDK client panics, while it settles a transaction, keeps no later call waiting.
func TestSettlePanic(t *testing.T) {
	for name, call := range map[string]func(context.Context, *queuelock.Lock){
		"Downgrade": func(ctx context.Context, lock *queuelock.Lock) { _ = lock.Downgrade(ctx) },
		"Release":   func(ctx context.Context, lock *queuelock.Lock) { _ = lock.Release(ctx) },
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			db := &locktest.Breaking{Client: table.Client("a")}
			c := locktest.Must(queuelock.New(db, table.Name(), locktest.TenSeconds))
			t.Cleanup(func() { _ = c.Close(context.Background()) })
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			gone := db.Inject(queuelocktest.SwallowRequest().Of("TransactWriteItems"))
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			lost := db.Inject(queuelocktest.LoseRequest().Of("UpdateItem"))
			if err := lock.Transact(short, locktest.Deposit(table, nil)); err == nil {
				t.Fatal("the transaction was made")
			}
			gone.Remove()
			lost.Remove()
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the client did not panic")
					}
				}()
				db.Left.Store(1)
				call(t.Context(), lock)
			}()
			begun := time.Now()
			if name == "Downgrade" {
				soon, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				locktest.Check(t, lock.Transact(soon, locktest.Deposit(table, nil)))
			}
			locktest.Release(t, lock)
			if took := time.Since(begun); took > 500*time.Millisecond {
				t.Errorf("the next calls took %v", took)
			}
		})
	}
}
