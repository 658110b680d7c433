package hold_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestSplitTransactions checks that no release is visible before the writes of its turn. Each turn reads an item with a
// plain consistent read, adds one, and writes it back.
func TestSplitTransactions(t *testing.T) {
	clients, turns := 4, locktest.Scaled(25, 8)
	const window = 50 * time.Millisecond
	for split, opts := range map[string][]queuelocktest.Option{
		"WhenAllTakeMilliseconds": {queuelocktest.WithSplitTransactions(window, 0, 1)},
		"WhenSomeTakeSeconds":     {queuelocktest.WithSplitTransactions(window, 0.05, 2)},
		"WhenTheRecordIsFirst":    nil,
	} {
		locktest.InTable(t, split, func(t *testing.T, table *queuelocktest.Table) {
			if opts == nil {
				table.Inject(queuelocktest.SplitTransaction(20*time.Millisecond, 0)) // the record's item is the last
			}
			var all sync.WaitGroup
			for i := range clients {
				c, db := locktest.Open(t, table, fmt.Sprint("client-", i), queuelock.Config{})
				all.Go(func() {
					for range turns {
						lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
						if err == nil {
							err = lock.Transact(t.Context(), increment(t, table, db))
						}
						if err == nil {
							err = lock.Release(t.Context())
						}
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			locktest.OK(t, table.Settle(t.Context()))
			if got := locktest.Balance(table); got != strconv.Itoa(clients*turns) {
				t.Errorf("%s of %d updates survived", got, clients*turns)
			}
		}, append(opts, queuelocktest.WithLatency(4*time.Millisecond))...)
	}
}

// increment reads the account, and returns the write of the next amount.
func increment(t *testing.T, table *queuelocktest.Table, db *queuelocktest.Client) types.TransactWriteItem {
	out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(table.Name()), Key: locktest.Account(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Error(err)
		return types.TransactWriteItem{}
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: aws.String(table.Name()), Key: locktest.Account(), UpdateExpression: aws.String("SET amount = :next"),
		ExpressionAttributeValues: av.Item{":next": av.Num(number(out.Item["amount"]) + 1)},
	}}
}

// A transaction of an evicted holder, which passed its fence before, becomes
// visible under the next lock. Get waits for it; a plain consistent read does not.
func TestSplitAfterEviction(t *testing.T) {
	for _, read := range []string{"SeenByGet", "NotSeenByPlainRead"} {
		locktest.InTable(t, read, func(t *testing.T, table *queuelocktest.Table) {
			a, dbA := locktest.Open(t, table, "a", locktest.TenSeconds)
			b, dbB := locktest.Open(t, table, "b", locktest.TenSeconds)
			held := locktest.Acquire(t, a, waitpolicy.NoWait)
			// The account's item late, the record at once.
			dbA.Inject(queuelocktest.SplitTransaction(30*time.Second, 0))
			ctx, crash := context.WithCancel(t.Context())
			go func() {
				if err := held.Transact(ctx, increment(t, table, dbA)); err == nil {
					t.Error("it was answered")
				}
			}()
			time.Sleep(time.Second)
			dbA.Partition()
			crash()
			next := locktest.Acquire(t, b, waitpolicy.Forever)
			if !next.Unsettled() {
				t.Fatal("the next holder does not know of the eviction")
			}
			begun := time.Now()
			if read == "NotSeenByPlainRead" {
				increment(t, table, dbB)
				if time.Since(begun) > time.Second || locktest.Balance(table) != "0" {
					t.Errorf("the account holds %s after %v: the transaction was to be under way", locktest.Balance(table), time.Since(begun))
				}
			} else {
				got, err := next.Get(t.Context(), readOf(table, locktest.Account()))
				if err != nil || time.Since(begun) < 5*time.Second || !reflect.DeepEqual(got[0]["amount"], av.Num(1)) {
					t.Errorf("after %v: %v, %v", time.Since(begun), got, err)
				}
			}
			locktest.Release(t, next)
		})
	}
}

// giveUp sends an increment that is committed after 15 s, the record at once, and gives it up
// after three. Its outcome must be unknown.
func giveUp(t *testing.T, table *queuelocktest.Table, db *queuelocktest.Client, lock *queuelock.Lock) {
	t.Helper()
	db.Inject(queuelocktest.SplitTransaction(15*time.Second, 0).Times(1))
	if err := lock.Transact(limited(t, 3*time.Second), increment(t, table, db)); !isUnknown(err) {
		t.Errorf("got %v", err)
	}
}

// openDateless returns a client whose answers have no dates.
func openDateless(t *testing.T, table *queuelocktest.Table, cfg queuelock.Config) (*queuelock.Client, *queuelocktest.Client) {
	t.Helper()
	db := table.Client("a", func(o *dynamodb.Options) { o.HTTPClient = dateless{o.HTTPClient} })
	return locktest.Must(queuelock.New(db, table.Name(), cfg)), db
}

// dateless removes the dates of answers, as some proxies do.
type dateless struct{ dynamodb.HTTPClient }

func (d dateless) Do(r *http.Request) (*http.Response, error) {
	answer, err := d.HTTPClient.Do(r)
	if err == nil {
		answer.Header.Del("Date")
	}
	return answer, err
}

// A client that does not know DynamoDB's time releases a lock while a transaction of it is
// being committed. The next holder must not compare the time of its host with DynamoDB's.
func TestSplitWithoutTime(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, db := openDateless(t, table, queuelock.Config{TTL: time.Hour, RequestTimeout: time.Second})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{TTL: time.Hour, RequestTimeout: time.Second})
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		giveUp(t, table, db, lock)
		locktest.Release(t, lock)
		for _, later := range []time.Duration{0, 30 * time.Second, 2 * time.Minute} {
			time.Sleep(later)
			next := locktest.Acquire(t, b, waitpolicy.Forever)
			if next.Unsettled() != (later < time.Minute) {
				t.Errorf("%v later Unsettled is %v", later, next.Unsettled())
			}
			locktest.Release(t, next)
		}
	}, queuelocktest.WithClock(func() time.Time { return time.Now().Add(time.Hour) }))
}

// Holders that share remove such a time when it was there for a whole minute of their own turn.
func TestSplitWithoutTimeShared(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, db := openDateless(t, table, queuelock.Config{RequestTimeout: time.Second})
		b, _ := locktest.OpenMet(t, table, "b", queuelock.Config{})
		lock := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Permits(2))
		giveUp(t, table, db, lock)
		locktest.Release(t, lock)
		for _, turn := range []struct {
			length    time.Duration
			unsettled bool
		}{{time.Second, true}, {2 * time.Minute, true}, {time.Second, false}} {
			next := locktest.Acquire(t, b, waitpolicy.Forever, queuelock.Permits(2))
			if next.Unsettled() != turn.unsettled {
				t.Errorf("Unsettled is %v at the turn of %v", next.Unsettled(), turn.length)
			}
			time.Sleep(turn.length)
			locktest.Release(t, next)
		}
		for _, item := range table.Items() {
			if left, ok := item["unsettled"]; ok {
				t.Errorf("%v is left", left)
			}
		}
	})
}

// TestUnsettledBounded releases many holders of a semaphore while their transactions are being committed. The record
// keeps few times, and the latest of them.
func TestUnsettledBounded(t *testing.T) {
	for name, pause := range map[string]time.Duration{"OneByOne": 5 * time.Millisecond, "AtOnce": 0} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			const many = 30
			cfg := queuelock.Config{RequestTimeout: time.Second}
			undated, db := openDateless(t, table, cfg)
			dated, met := locktest.OpenMet(t, table, "dated", cfg)
			locks := []*queuelock.Lock{locktest.Acquire(t, undated, waitpolicy.Forever, queuelock.Permits(2*many))}
			for range many {
				locks = append(locks, locktest.Acquire(t, dated, waitpolicy.Forever, queuelock.Permits(2*many)))
			}
			split := queuelocktest.SplitTransaction(15*time.Second, 0)
			db.Inject(split)
			met.Inject(split)
			var all sync.WaitGroup
			for i, lock := range locks {
				all.Go(func() {
					time.Sleep(time.Duration(i) * 20 * time.Millisecond)
					if err := lock.Transact(limited(t, 2*time.Second), putOf(table, strconv.Itoa(i), nil)); !isUnknown(err) {
						t.Errorf("got %v", err)
					}
				})
			}
			all.Wait()
			locktest.Release(t, locks[0]) // without a date, so with the latest time
			for _, lock := range locks[1:] {
				all.Go(func() { locktest.Release(t, lock) })
				time.Sleep(pause)
			}
			all.Wait()
			record, _ := locktest.Record(t, table)
			times := record["unsettled"].(*types.AttributeValueMemberNS).Value
			if most := 10; pause > 0 && len(times) > most {
				t.Errorf("the record has the times %v", times)
			}
			if !slices.ContainsFunc(times, func(ms string) bool { return len(ms) == len("253370764800000") }) {
				t.Errorf("the latest time is not among %v", times)
			}
			next := locktest.Acquire(t, dated, waitpolicy.Forever, queuelock.Permits(2*many))
			if !next.Unsettled() {
				t.Error("the transactions are taken for settled")
			}
			locktest.Release(t, next)
		}, queuelocktest.WithLatency(time.Millisecond))
	}
}

// A holder of a semaphore is released after another whose transaction is being committed. Its
// mark must not hide that, whether it has seen it in the answer to a heartbeat or not.
func TestSplitBesideHolder(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"ReleaseAnswered":   queuelocktest.DelayResponse(0),
		"ReleaseLost":       queuelocktest.LoseRequest(),
		"ReleaseAnswerLost": queuelocktest.LoseResponse(),
		"ReleaseTwice":      queuelocktest.Duplicate(5 * time.Second),
	} {
		for seen, later := range map[string]time.Duration{"Unseen": 0, "SeenByHeartbeat": 10 * time.Second} {
			locktest.InTable(t, name+"/"+seen, func(t *testing.T, table *queuelocktest.Table) {
				cfg := queuelock.Config{TTL: 20 * time.Second, RequestTimeout: time.Second}
				a, db := locktest.OpenMet(t, table, "a", cfg)
				b, _ := locktest.OpenMet(t, table, "b", cfg)
				first := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Permits(2))
				second := locktest.Acquire(t, b, waitpolicy.NoWait, queuelock.Permits(2))
				giveUp(t, table, db, first)
				met := db.Inject(fault.Mentioning("unsettled").Times(1))
				locktest.Release(t, first)
				if met.Fired() != 1 {
					t.Error("the release does not add the time")
				}
				time.Sleep(later)
				locktest.Release(t, second)
				next := locktest.Acquire(t, b, waitpolicy.NoWait, queuelock.Permits(2))
				if !next.Unsettled() {
					t.Error("the transaction is taken for settled")
				}
				locktest.Release(t, next)
			})
		}
	}
}
