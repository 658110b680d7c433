package queuelock_test

import (
	"testing"
	"testing/synctest"
	"time"

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
