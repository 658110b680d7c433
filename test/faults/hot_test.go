package faults_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestHotEntity throttles the requests of a holder and of a waiter for two minutes. Each throttled attempt is an event.
// The log names the queue once in a minute if the limit is that of a key range, and not otherwise.
func TestHotEntity(t *testing.T) {
	for limit, warnings := range map[event.Limit]int{event.KeyRange: 2, event.Account: 0} {
		locktest.InTable(t, limit.String(), func(t *testing.T, table *queuelocktest.Table) {
			var log locktest.Journal
			seen := map[event.Limit]int{}
			c, db := locktest.Open(t, table, "c", queuelock.Config{Logger: log.Logger(), Observer: event.Func(func(e event.Event) {
				if hot, ok := e.(event.Throttled); ok {
					seen[hot.Limit]++
					if hot.Entity != locktest.Order.Entity || hot.Reason != "lock" || hot.Operation == "" || hot.Owner != "c" || hot.Acquire == 0 {
						t.Errorf("%+v", hot)
					}
				}
			})})
			held := locktest.Acquire(t, c, waitpolicy.NoWait)
			waiting := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
			time.Sleep(time.Second)
			hot := db.Inject(queuelocktest.Throttle(limit).WithProbability(0.5, 1))
			time.Sleep(119 * time.Second)
			hot.Remove()
			synctest.Wait()
			if n := log.Count("by the limit of a key range: its entity is hot\" queue=\"order-7 lock\""); n != warnings {
				t.Errorf("%d warnings, want %d", n, warnings)
			}
			if n := hot.Fired(); n < 5 || seen[limit] != n || len(seen) != 1 {
				t.Errorf("%d attempts were throttled, the events are %v", n, seen)
			}
			locktest.Release(t, held)
			locktest.Release(t, locktest.Lock(t, locktest.Within(t, "the lock", time.Minute, waiting)))
		})
	}
	for name, acquire := range map[string]func(*testing.T, *queuelock.Client){
		"AcquireAll": func(t *testing.T, c *queuelock.Client) {
			locktest.Release(t, locktest.AcquireAll(t, c, waitpolicy.Forever, "order-7", "order-8"))
		},
		"Sweep": func(t *testing.T, c *queuelock.Client) {
			locktest.Must(c.Operator().Sweep(t.Context(), locktest.Order))
		},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			var log locktest.Journal
			c, db := locktest.Open(t, queuelocktest.NewTable(t), "c", queuelock.Config{Logger: log.Logger()})
			db.Inject(queuelocktest.Throttle(event.KeyRange).Mentioning("order-7").Times(2))
			db.Inject(queuelocktest.Throttle(event.KeyRange).On("order-7", "").Times(2))
			acquire(t, c)
			synctest.Wait()
			if n := log.Count("is hot"); n != 1 || !log.Says("queue=\"order-7 lock\"") {
				t.Errorf("%d warnings, want one of order-7", n)
			}
		})
	}
}
