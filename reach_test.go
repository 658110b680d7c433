package queuelock_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestExpiredCredentials(t *testing.T) {
	for _, code := range []queuelocktest.Code{"ExpiredTokenException", "UnrecognizedClientException"} {
		for name, opts := range map[string][]queuelock.Option{"Leased": nil, "FailClosed": {queuelock.FailClosed()}} {
			t.Run("DelayAReleaseUntilTheyAreRenewed/"+name+"/"+string(code), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
					a, db := open(t, table, "a", tenSeconds)
					lock := acquire(t, a, waitpolicy.NoWait, opts...)
					expired := db.Inject(queuelocktest.Refuse(code))
					time.AfterFunc(3*time.Second, expired.Remove)
					release(t, lock)
					if _, holders := record(t, table); len(holders) > 0 || expired.Fired() == 0 {
						t.Errorf("left %v, after %d refusals", holders, expired.Fired())
					}
				})
			})
		}
		t.Run("CostNoLockThatIsRenewedInTime/"+string(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
				a, db := open(t, table, "a", tenSeconds)
				lock := acquire(t, a, waitpolicy.NoWait)
				time.Sleep(4 * time.Second)
				expired := db.Inject(queuelocktest.Refuse(code))
				time.Sleep(3 * time.Second)
				expired.Remove()
				time.Sleep(time.Minute)
				if lock.Err() != nil || expired.Fired() == 0 {
					t.Errorf("%v, after %d refusals", lock.Err(), expired.Fired())
				}
				release(t, lock)
			})
		})
	}
}

// A lease that a client begins ends when it should, however long the client has
// been idle, and whatever waits for it then.
func TestIdleClient(t *testing.T) {
	for name, test := range map[string]struct {
		idle  time.Duration
		reads int
	}{
		"ReadsNothingAfterTenMinutes":    {10 * time.Minute, 0},
		"ReadsOnceAfterAQuarterOfAnHour": {15 * time.Minute, 1},
		"ReadsOnceAfterAMonth":           {30 * 24 * time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
				a, db := open(t, table, "a", tenSeconds)
				release(t, acquire(t, a, waitpolicy.NoWait))
				for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
					time.Sleep(test.idle)
					before := db.Counts()
					lock := acquire(t, a, wait)
					counts := db.Counts().Sub(before)
					if reads := counts["GetItem"].Sent; reads != test.reads || counts.Total().Sent != 1+test.reads {
						t.Errorf("%v: %d reads of %d requests, want %d", wait, reads, counts.Total().Sent, test.reads)
					}
					_, holders := record(t, table)
					for _, h := range holders {
						until := h.(*types.AttributeValueMemberM).Value["until"].(*types.AttributeValueMemberN).Value
						end := time.UnixMilli(must(strconv.ParseInt(until, 10, 64)))
						if left := time.Until(end); left < ttl-time.Second || left > ttl+3*time.Second {
							t.Errorf("%v: the lease of %v ends after %v", wait, ttl, left)
						}
					}
					release(t, lock)
				}
			})
		})
	}
	t.Run("ReadsNothingWhileItHolds", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			a, db := open(t, table, "a", tenSeconds)
			acquire(t, a, waitpolicy.NoWait)
			before := db.Counts()
			time.Sleep(time.Hour)
			if n := db.Counts().Sub(before)["GetItem"].Sent; n != 0 {
				t.Errorf("%d reads", n)
			}
			if _, err := a.Acquire(t.Context(), queuelock.Key{Entity: "another"}, waitpolicy.NoWait); err != nil || db.Counts().Sub(before)["GetItem"].Sent != 0 {
				t.Errorf("%v, with a read", err)
			}
		})
	})
}
