package modes_test

import (
	"errors"
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
