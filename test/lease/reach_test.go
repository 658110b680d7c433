package lease_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/testbed/attr"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestExpiredCredentials(t *testing.T) {
	for _, code := range []queuelocktest.Code{"ExpiredTokenException", "UnrecognizedClientException"} {
		for name, opts := range map[string][]queuelock.Option{"Leased": nil, "FailClosed": {queuelock.FailClosed()}} {
			t.Run("DelayAReleaseUntilTheyAreRenewed/"+name+"/"+string(code), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
					a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
					lock := locktest.Acquire(t, a, waitpolicy.NoWait, opts...)
					expired := db.Inject(queuelocktest.Refuse(code))
					time.AfterFunc(3*time.Second, expired.Remove)
					locktest.Release(t, lock)
					if _, holders := locktest.Record(t, table); len(holders) > 0 || expired.Fired() == 0 {
						t.Errorf("left %v, after %d refusals", holders, expired.Fired())
					}
				})
			})
		}
		t.Run("CostNoLockThatIsRenewedInTime/"+string(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
				a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
				lock := locktest.Acquire(t, a, waitpolicy.NoWait)
				time.Sleep(4 * time.Second)
				expired := db.Inject(queuelocktest.Refuse(code))
				time.Sleep(3 * time.Second)
				expired.Remove()
				time.Sleep(time.Minute)
				if lock.Err() != nil || expired.Fired() == 0 {
					t.Errorf("%v, after %d refusals", lock.Err(), expired.Fired())
				}
				locktest.Release(t, lock)
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
				a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
				locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
				for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
					time.Sleep(test.idle)
					before := db.Counts()
					lock := locktest.Acquire(t, a, wait)
					counts := db.Counts().Sub(before)
					if reads := counts["GetItem"].Sent; reads != test.reads || counts.Total().Sent != 1+test.reads {
						t.Errorf("%v: %d reads of %d requests, want %d", wait, reads, counts.Total().Sent, test.reads)
					}
					_, holders := locktest.Record(t, table)
					for _, h := range holders {
						until := h.(*types.AttributeValueMemberM).Value["until"].(*types.AttributeValueMemberN).Value
						end := time.UnixMilli(locktest.Must(strconv.ParseInt(until, 10, 64)))
						if left := time.Until(end); left < locktest.TTL-time.Second || left > locktest.TTL+3*time.Second {
							t.Errorf("%v: the lease of %v ends after %v", wait, locktest.TTL, left)
						}
					}
					locktest.Release(t, lock)
				}
			})
		})
	}
	t.Run("ReadsNothingWhileItHolds", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			locktest.Acquire(t, a, waitpolicy.NoWait)
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

// The counter of a wider scope serves every queue of it: a record that holds a
// number which cannot be right costs its own queue, and no other.
func TestBadTicketNumber(t *testing.T) {
	bad, good := queuelock.Key{Entity: "bad"}, queuelock.Key{Entity: "good"}
	for name, number := range map[string]string{
		"TheLast": ticket.Max.String(), "TwoBeforeTheLast": ticket.Max.Previous().Previous().String(), "Negative": "-3", "BeyondAnyClock": "900000000000000",
	} {
		t.Run("CostsItsOwnQueueOnly/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
				cfg := locktest.TenSeconds
				cfg.Scope = queuelock.ScopeShared
				a, db := locktest.Open(t, table, "a", cfg)
				for _, key := range []queuelock.Key{bad, good} {
					locktest.Release(t, locktest.Must(a.Acquire(t.Context(), key, waitpolicy.NoWait)))
				}
				if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
					TableName: aws.String(table.Name()), Key: attr.With(locktest.RecordKey(), attr.Item{"pk": attr.Str("bad")}),
					UpdateExpression: aws.String("SET ticketNumber = :n"), ExpressionAttributeValues: attr.Item{":n": attr.Num(number)},
				}); err != nil {
					t.Fatal(err)
				}
				items := len(table.Items())
				for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(time.Minute)} {
					_, one := a.Acquire(t.Context(), bad, wait)
					_, all := a.AcquireAll(t.Context(), []queuelock.Key{good, bad}, wait)
					for _, err := range []error{one, all} {
						locktest.Says(t, err, `serving record of "bad lock"`, "ticketNumber", number)
						if _, ok := errors.AsType[*queuelock.MalformedError](err); !ok {
							t.Errorf("%v", err)
						}
					}
				}
				lock := locktest.Must(a.Acquire(t.Context(), good, waitpolicy.NoWait))
				if n := lock.Ticket(); n.After(ticket.FromUint64(100)) > 0 {
					t.Errorf("the next ticket is %s", n)
				}
				locktest.Release(t, lock)
				if n := len(table.Items()); n != items {
					t.Errorf("%d items, want %d", n, items)
				}
			})
		})
	}
	t.Run("RaisesACounterThatWasLostAfterYears", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			cfg := locktest.TenSeconds
			cfg.Scope = queuelock.ScopeShared
			a, _ := locktest.Open(t, table, "a", cfg)
			const issued = 50 * 365 * 24 * 3600 * 10_000 // seconds of fifty years, times 10^4
			locktest.Write(t, table, attr.With(locktest.RecordKey(), attr.Item{"ticketNumber": attr.Num(issued), "granted": attr.Num(issued), "scope": attr.Str("shared")}))
			lock := locktest.Acquire(t, a, waitpolicy.Forever)
			if lock.Ticket() != ticket.FromUint64(issued+1) {
				t.Errorf("ticket %s, want %d", lock.Ticket(), issued+1)
			}
			locktest.Release(t, lock)
		})
	})
}

// Holders of one record renew the same item: were all renewals of one instant,
// the table would throttle them.
func TestHeartbeats(t *testing.T) {
	t.Run("AreSpreadAmongHoldersThatWereGrantedAtOnce", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const holders = 60
			table := queuelocktest.NewTable(t)
			a, db := locktest.Open(t, table, "a", queuelock.Config{})
			var mu sync.Mutex
			perSecond := map[int64]int{}
			db.Inject(queuelocktest.DelayRequest(0).Where(func(r queuelocktest.Request) bool {
				if strings.Contains(r.Expression(), "beat + 1") {
					mu.Lock()
					perSecond[time.Now().Unix()]++
					mu.Unlock()
				}
				return false
			}))
			for range holders {
				locktest.Acquire(t, a, waitpolicy.Forever, queuelock.Permits(holders))
			}
			mu.Lock()
			clear(perSecond)
			mu.Unlock()
			time.Sleep(5 * time.Minute)
			mu.Lock()
			defer mu.Unlock()
			most, total := 0, 0
			for _, n := range perSecond {
				most, total = max(most, n), total+n
			}
			if most > holders/4 || total < 10*holders {
				t.Errorf("%d of %d renewals came within one second", most, total)
			}
		})
	})
}

// All entries of a record are one item: what its holders need together must stay
// within what an item may have and a partition gives.
func TestRecordSize(t *testing.T) {
	t.Run("RefusesPermitsThatCannotBeRenewed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			a, db := locktest.Open(t, table, "a", queuelock.Config{})
			_, err := a.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.Permits(500))
			locktest.Says(t, err, "Permits(500)", "HeartbeatInterval 30s", "write units a second", "at least 1m")
			if n := db.Counts().Total().Sent; n != 0 {
				t.Errorf("%d requests were sent", n)
			}
			locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Permits(500), queuelock.WithTTL(5*time.Minute)))
		})
	})
	t.Run("BoundsDataByPermits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// The units that the heartbeats need are the narrower bound of both.
			n, ttl := locktest.Scaled(98, 40), locktest.Scaled(time.Minute, 10*time.Second)
			table := queuelocktest.NewTable(t)
			a, db := locktest.Open(t, table, "a", queuelock.Config{TTL: ttl})
			_, err := a.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.Permits(n), queuelock.WithData(make([]byte, 4096)))
			locktest.Says(t, err, "WithData", "4096 bytes", "at most 1", "other holders")
			if sent := db.Counts().Total().Sent; sent != 0 {
				t.Errorf("%d requests were sent", sent)
			}
			var held []*queuelock.Lock
			for range n {
				held = append(held, locktest.Acquire(t, a, waitpolicy.Forever, queuelock.Permits(n)))
			}
			for _, lock := range held {
				before := db.Counts()
				if err := lock.SetData(t.Context(), make([]byte, 1400)); err == nil || db.Counts().Sub(before)["UpdateItem"].Sent != 0 {
					t.Fatalf("%v: 1400 bytes were sent", err)
				}
				if err := lock.SetData(t.Context(), make([]byte, 1300)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(ttl * 2 / 3) // each has renewed its lease
			for _, lock := range held {
				locktest.Release(t, lock)
			}
		})
	})
	t.Run("BoundsDataOfReaders", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			a, _ := locktest.Open(t, table, "a", queuelock.Config{})
			_, err := a.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.Shared(), queuelock.WithData(make([]byte, 257)))
			locktest.Says(t, err, "WithData", "257 bytes", "at most 256")
			lock := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.WithData(make([]byte, 4096)))
			if err := lock.Downgrade(t.Context()); err != nil {
				t.Fatal(err)
			}
			locktest.Says(t, lock.SetData(t.Context(), make([]byte, 257)), "SetData", "257 bytes", "at most 256")
			if err := lock.SetData(t.Context(), make([]byte, 256)); err != nil {
				t.Error(err)
			}
			locktest.Release(t, lock)
		})
	})
	t.Run("AdmitsAsManyReadersAsCanBeRenewed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			a, _ := locktest.Open(t, table, "a", queuelock.Config{TTL: time.Second, WaiterTTL: time.Minute})
			n := serving.Load{Owner: 1, Data: serving.MaxSharedData, Interval: time.Second / 2}.MaxHolders()
			if n < 10 || n > 100 {
				t.Fatalf("%d readers", n)
			}
			var held []*queuelock.Lock
			for range n {
				held = append(held, locktest.Acquire(t, a, waitpolicy.For(time.Minute), queuelock.Shared()))
			}
			for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(time.Second)} {
				if _, err := a.Acquire(t.Context(), locktest.Order, wait, queuelock.Shared()); !errors.Is(err, queuelock.ErrNotAcquired) {
					t.Errorf("reader %d: %v", n+1, err)
				}
			}
			locktest.Release(t, held[0])
			locktest.Release(t, locktest.Acquire(t, a, waitpolicy.For(time.Minute), queuelock.Shared()))
		})
	})
}

// What the formula reckons with must be no less than what a record has.
func TestRecordSizeFormula(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		cfg := queuelock.Config{Owner: strings.Repeat("o", 256)}
		key := queuelock.Key{Entity: strings.Repeat("e", 200), Reason: strings.Repeat("r", 100)}
		a, _ := locktest.Open(t, table, "a", cfg)
		const n = 20
		size := func() int {
			out := locktest.Must(table.Client("b").GetItem(t.Context(), &dynamodb.GetItemInput{
				TableName: aws.String(table.Name()), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal, ConsistentRead: aws.Bool(true),
				Key: attr.Item{"pk": attr.Str(key.Entity), "sk": attr.Str(key.Reason + "/" + ticket.Number{}.Padded())},
			}))
			return int(*out.ConsumedCapacity.CapacityUnits) * 4096
		}
		for i := range 2 * n { // with both marks, and a transaction of each
			lock, err := a.Acquire(t.Context(), key, waitpolicy.Forever, queuelock.Permits(n), queuelock.LockDelay(time.Hour), queuelock.WithData(make([]byte, 1000)))
			if err == nil {
				err = lock.Transact(t.Context(), locktest.Deposit(table, nil))
			}
			if err == nil && i < n {
				err = lock.Release(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		if got, most := size(), 1024+n*(200+256+1000)+4095; got > most {
			t.Errorf("the record has %d bytes, the formula says %d", got, most)
		}
	})
}
