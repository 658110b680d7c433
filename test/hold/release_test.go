package hold_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestReleaseReportsLoss checks that Release reports a loss that was not known before.
// The record says what the refusal of a Release means: the lock was taken away.
func TestReleaseReportsLoss(t *testing.T) {
	for what, take := range map[string]func(*testing.T, *queuelocktest.Table, *queuelock.Lock){
		"another process resumed it": func(t *testing.T, table *queuelocktest.Table, lock *queuelock.Lock) {
			other, _ := locktest.Open(t, table, "other", queuelock.Config{})
			locktest.Release(t, locktest.Must(other.Resume(t.Context(), lock.Handle(), waitpolicy.NoWait)))
		},
		"another process has resumed it": func(t *testing.T, table *queuelocktest.Table, lock *queuelock.Lock) {
			other, _ := locktest.Open(t, table, "other", queuelock.Config{})
			locktest.Must(other.Resume(t.Context(), lock.Handle(), waitpolicy.NoWait))
		},
		"an operator took it": func(t *testing.T, table *queuelocktest.Table, _ *queuelock.Lock) {
			locktest.OperatorTakes(t, table)
		},
		"an operator took it, and another holds it": func(t *testing.T, table *queuelocktest.Table, _ *queuelock.Lock) {
			other, _ := locktest.Open(t, table, "other", queuelock.Config{})
			locktest.OperatorTakes(t, table)
			locktest.Acquire(t, other, waitpolicy.Forever)
		},
		"an operator deleted the record": func(t *testing.T, table *queuelocktest.Table, _ *queuelock.Lock) {
			locktest.Must(table.Client("operator").DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(table.Name()), Key: locktest.RecordKey()}))
		},
	} {
		for _, queued := range []bool{false, true} {
			locktest.InBubble(t, fmt.Sprintf("%s, queued: %t", what, queued), func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				c, db := locktest.Open(t, table, "c", queuelock.Config{})
				held := locktest.Acquire(t, c, waitpolicy.NoWait)
				if queued {
					waiting := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
					synctest.Wait()
					locktest.Release(t, held)
					held = (<-waiting).Lock
				}
				take(t, table, held)
				synctest.Wait() // what the waiter has left to do in the background
				before := db.Counts()
				err := held.Release(t.Context())
				lost, ok := errors.AsType[*queuelock.LostError](err)
				_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err)
				if deleted := strings.Contains(what, "deleted"); unknown != deleted || !deleted && (!ok || lost.Cause != heartbeat.Evicted || lost.Ticket != held.Ticket()) {
					t.Errorf("%v", err) // with the record, the mark of a release is gone
				}
				if again := held.Release(t.Context()); again != err {
					t.Errorf("called again: %v", again)
				}
				if n := db.Counts().Sub(before).Total().Sent; n > 1 {
					t.Errorf("%d requests, want the release", n)
				}
			})
		}
	}
	locktest.InBubble(t, "and so does Do", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		err := c.Do(t.Context(), locktest.Order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error {
			locktest.OperatorTakes(t, table)
			return nil
		})
		if !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("%v", err)
		}
	})
}
