package modes_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

const (
	claimed = "size (holders) = 0) AND (granted <"
	// grace is the lease of a grant that is not confirmed yet, under tenSeconds:
	// four times RequestTimeout, which is a second.
	grace = 4 * time.Second
)

// TestConfirmation checks that every grant is confirmed, whatever becomes of the requests and answers.
func TestConfirmation(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"no fault":             queuelocktest.DelayRequest(0),
		"request lost":         queuelocktest.LoseRequest().Times(5),
		"response lost":        queuelocktest.LoseResponse().Times(1),
		"all responses lost":   queuelocktest.LoseResponse().Times(5),
		"response never comes": queuelocktest.SwallowResponse().Times(1),
		"throttled":            queuelocktest.Refuse(queuelocktest.Throttling).Times(5),
		"twice":                queuelocktest.Duplicate(500 * time.Millisecond),
		"lands late":           queuelocktest.LandLate(300 * time.Millisecond).Times(1),
		"lands later":          queuelocktest.LandLate(20 * time.Second).Times(1),
	} {
		for _, queued := range []bool{false, true} {
			locktest.InWatched(t, fmt.Sprint(name, ", queued: ", queued), func(t *testing.T, table *queuelocktest.Table) {
				c, db, other := locktest.Pair(t, table, locktest.TenSeconds, "a", "other")
				first := locktest.Acquire(t, other, waitpolicy.NoWait)
				if !queued {
					locktest.Release(t, first)
				}
				injected := db.Inject(fault.Mentioning(locktest.Confirmation))
				done := locktest.Waiting(t, c, queuelock.FailClosed())
				if queued {
					locktest.Release(t, first)
				}
				lock := locktest.Lock(t, <-done)
				if injected.Fired() == 0 {
					t.Error("no confirmation met the fault")
				}
				confirmed(t, table)
				time.Sleep(time.Minute)
				confirmed(t, table)
				locktest.Release(t, lock)
				time.Sleep(time.Second)
				takenWithin(t, other, time.Second)
			})
		}
	}
}

// TestUnknownConfirmation checks that a confirmation whose answer was lost, and which cannot be undone, is reported:
// nothing but an operator is left.
func TestUnknownConfirmation(t *testing.T) {
	for name, wait := range map[string]waitpolicy.Wait{
		"no wait": waitpolicy.NoWait, "attempts": waitpolicy.Attempts(20, time.Second), "a time": waitpolicy.For(20 * time.Second), "for ever": waitpolicy.Forever,
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, db, operator := locktest.Pair(t, table, locktest.TenSeconds, "a", "operator")
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
			db.Inject(queuelocktest.SwallowResponse().Mentioning(locktest.Confirmation))
			db.Inject(queuelocktest.LoseRequest().Mentioning("REMOVE holders"))
			_, err := c.Acquire(t.Context(), locktest.Order, wait, queuelock.FailClosed())
			orphan, ok := errors.AsType[*queuelock.UnreleasedError](err)
			if !ok {
				t.Fatalf("%v, want an *UnreleasedError", err)
			}
			locktest.Says(t, orphan, "order-7", "ticket 2", "may still be held", "evict")
			if limit, limited := wait.Limit(); limited && limit > 0 && !errors.Is(err, queuelock.ErrUnavailable) {
				t.Errorf("%v, want ErrUnavailable", err)
			}
			confirmed(t, table)
			time.Sleep(time.Hour)
			_, err = operator.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
			locktest.Is(t, err, queuelock.ErrNotAcquired)
			locktest.Check(t, operator.Operator().Evict(t.Context(), locktest.Order, locktest.Shown(t, operator, orphan.Ticket)))
			locktest.Release(t, locktest.Acquire(t, operator, waitpolicy.NoWait))
		})
	}
	locktest.InTable(t, "taken back", func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		db.Inject(queuelocktest.SwallowResponse().Mentioning(locktest.Confirmation).Times(20))
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(10*time.Second), queuelock.FailClosed())
		if _, orphan := errors.AsType[*queuelock.UnreleasedError](err); orphan || !errors.Is(err, queuelock.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		locktest.Sends(t, table, 2, "a cycle", func() { locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait)) })
	})
}

// TestUnreadableGrant checks that a request which is applied to a record that became malformed meanwhile grants no lock, and
// leaves no entry: what was granted is not known.
func TestUnreadableGrant(t *testing.T) {
	failClosed := []queuelock.AcquireOption{queuelock.FailClosed()}
	for name, test := range map[string]struct {
		request string
		scope   ticket.Scope
		opts    []queuelock.AcquireOption
		busy    bool
	}{
		"TAKE":                  {request: "ticketNumber"},
		"ENTER":                 {request: "servingAfter", scope: ticket.ScopeTable},
		"CLAIM":                 {request: claimed, busy: true},
		"CONFIRM after a TAKE":  {request: locktest.Confirmation, opts: failClosed},
		"CONFIRM after a CLAIM": {request: locktest.Confirmation, opts: failClosed, busy: true},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			cfg := locktest.TenSeconds
			cfg.Scope = test.scope
			c, db := locktest.OpenMet(t, table, "a", cfg)
			other, _ := locktest.OpenMet(t, table, "other", cfg)
			first := locktest.Acquire(t, other, waitpolicy.NoWait)
			if !test.busy {
				locktest.Release(t, first)
			}
			held := db.Inject(queuelocktest.HoldRequest().On(locktest.Order.Entity, av.Text(locktest.RecordKey()["sk"])).Mentioning(test.request).Times(1))
			waiting := locktest.LockBy(t, c, test.opts...)
			if test.busy {
				time.Sleep(100 * time.Millisecond)
				locktest.Release(t, first)
			}
			<-held.Reached()
			locktest.Must(table.Client("editor").UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: aws.String(table.Name()), Key: locktest.RecordKey(),
				UpdateExpression: aws.String("SET permits = :v"), ExpressionAttributeValues: av.Item{":v": av.Str("many")},
			}))
			held.Release()
			got := <-waiting
			if malformed, ok := errors.AsType[*queue.MalformedError](got.Err); !ok || malformed.Attribute != "permits" {
				t.Errorf("%+v, want that the record is malformed", got)
			}
			if left := locktest.Entries(table); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}
