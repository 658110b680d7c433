package hold_test

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

const day = 24 * time.Hour

// expiry returns when the table's TTL may delete the one record of a table; zero: never.
func expiry(t *testing.T, table *queuelocktest.Table) time.Time {
	t.Helper()
	items := table.Items()
	if len(items) != 1 {
		t.Fatalf("%d items, want the record", len(items))
	}
	if n := number(items[0]["expiresAt"]); n > 0 {
		return time.Unix(n, 0)
	}
	return time.Time{}
}

// evictions are those after which the queue becomes idle, of a holder that has crashed.
var evictions = map[string]struct {
	opts  []queuelock.AcquireOption
	evict func(ctx context.Context, op *queuelock.Client) error
}{
	"Sweep": {evict: func(ctx context.Context, op *queuelock.Client) error {
		_, err := op.Operator().Sweep(ctx, locktest.Order)
		return err
	}},
	"Sweeper": {evict: func(ctx context.Context, op *queuelock.Client) error {
		_, err := sweeper.Once(ctx, op.Operator(), locktest.Order)
		return err
	}},
	"Evict":           {opts: []queuelock.AcquireOption{queuelock.FailClosed()}, evict: evict},
	"EvictWithALease": {evict: evict},
}

func evict(ctx context.Context, op *queuelock.Client) error {
	state, err := op.Viewer().Inspect(ctx, locktest.Order)
	if err != nil {
		return err
	}
	return op.Operator().Evict(ctx, locktest.Order, state.Serving[0])
}

// TestForget checks that the table's TTL deletes idle records, and no other.
func TestForget(t *testing.T) {
	for name, end := range evictions {
		locktest.InTable(t, "AfterEvictionBy"+name, func(t *testing.T, table *queuelocktest.Table) {
			crashed, network := locktest.OpenMet(t, table, "a", queuelock.Config{Forget: day})
			op, _ := locktest.OpenMet(t, table, "op", queuelock.Config{Forget: day})
			locktest.Acquire(t, crashed, waitpolicy.Forever, end.opts...)
			network.Partition()
			time.Sleep(2 * time.Minute)
			locktest.OK(t, end.evict(t.Context(), op))
			synctest.Wait()
			if left := time.Until(expiry(t, table)); left < day-5*time.Second || left > day+5*time.Second {
				t.Errorf("the record expires in %v, want a day", left)
			}
			spent := locktest.Cost(table, func() { locktest.Acquire(t, op, waitpolicy.Forever) })
			// It may also ask for the TTL of the table, which costs no units.
			if spent.WriteUnits != 1 || spent.ReadUnits != 0 || !expiry(t, table).IsZero() {
				t.Errorf("the next acquire cost %+v, and the record expires at %v", spent, expiry(t, table))
			}
		})
	}
	locktest.InTable(t, "NotWithWiderScope", func(t *testing.T, table *queuelocktest.Table) {
		crashed, network := locktest.OpenMet(t, table, "a", queuelock.Config{Scope: ticket.ScopeTable})
		op, _ := locktest.OpenMet(t, table, "op", queuelock.Config{Forget: day})
		locktest.Acquire(t, crashed, waitpolicy.Forever)
		network.Partition()
		time.Sleep(2 * time.Minute)
		if swept := locktest.Must(op.Operator().Sweep(t.Context(), locktest.Order)); swept.Holders != 1 {
			t.Fatal(swept)
		}
		for _, item := range table.Items() {
			if item["holders"] != nil || item["expiresAt"] != nil {
				t.Errorf("%v is left", item)
			}
		}
	})
	locktest.InTable(t, "OnlyIdleRecords", func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{Forget: day})
		b, _ := locktest.OpenMet(t, table, "b", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.NoWait))
		time.Sleep(time.Second)
		if at := expiry(t, table); !at.IsZero() { // its counter would issue tickets twice
			t.Errorf("a record that is to be kept expires at %v", at)
		}
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		for range 3 {
			if at := expiry(t, table); !at.IsZero() {
				t.Errorf("a held record expires at %v", at)
			}
			locktest.Release(t, held)
			time.Sleep(time.Second) // RESET
			if left := time.Until(expiry(t, table)); left < day-2*time.Second || left > day+5*time.Second {
				t.Errorf("an idle record expires in %v, want a day", left)
			}
			time.Sleep(time.Hour)
			// A client without Forget keeps the record, too.
			held = locktest.Acquire(t, b, waitpolicy.Forever)
			if at := expiry(t, table); !at.IsZero() {
				t.Errorf("a held record expires at %v", at)
			}
			waiting := locktest.QueueUp(t.Context(), a, waitpolicy.Forever)
			time.Sleep(time.Minute)
			locktest.Release(t, held) // the hand-off
			held = locktest.Lock(t, <-waiting)
			time.Sleep(time.Minute) // its row is deleted
		}
		locktest.Release(t, held)
		time.Sleep(time.Minute) // RESET
		if left := time.Until(expiry(t, table)); left < day-time.Minute || left > day {
			t.Errorf("a record that RESET made idle expires in %v, want a day", left)
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
	locktest.InTable(t, "NeverItems", func(t *testing.T, table *queuelocktest.Table) {
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		for _, own := range []types.AttributeValue{nil, &types.AttributeValueMemberN{Value: "4102444800"}} {
			delete(whole, "expiresAt")
			if own != nil {
				whole["expiresAt"] = own
			}
			u.Put(whole)
			a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{Forget: day})
			locktest.Release(t, locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait))
			if got := u.Get(key)["expiresAt"]; !reflect.DeepEqual(got, own) {
				t.Errorf("the user's item expires at %v, want %v", got, own)
			}
		}
	})
	for name, ttl := range map[string]string{"enabled": "expiresAt", "on another attribute": "other", "disabled": ""} {
		locktest.InTable(t, "TTL of the table "+name, func(t *testing.T, table *queuelocktest.Table) {
			db := table.Client("operator")
			set := func(attribute string, enabled bool) {
				locktest.Must(db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
					TableName: aws.String(table.Name()), TimeToLiveSpecification: &types.TimeToLiveSpecification{
						AttributeName: &attribute, Enabled: &enabled,
					},
				}))
			}
			if ttl != "expiresAt" {
				set("expiresAt", false)
			}
			if ttl == "other" {
				set(ttl, true)
			}
			var log locktest.Journal
			a, _ := locktest.Open(t, table, "a", queuelock.Config{Forget: day, Logger: log.Logger()})
			for range 2 {
				locktest.Release(t, locktest.Acquire(t, a, waitpolicy.Forever))
				synctest.Wait()
			}
			if got := log.Count("not forgotten"); got > 1 || (got == 0) != (ttl == "expiresAt") {
				t.Errorf("reported %d times", got)
			}
		})
	}
}
