package inspect_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// dataOf is what the only holder tells of itself; "-" if it tells nothing, or
// there is none.
func dataOf(t *testing.T, table *queuelocktest.Table) string {
	t.Helper()
	all := locktest.Entries(table)
	if len(all) > 1 {
		t.Fatalf("%d holders", len(all))
	}
	for _, entry := range all {
		if data, ok := entry["data"].(*types.AttributeValueMemberB); ok {
			return string(data.Value)
		}
	}
	return "-"
}

func TestDataIsShownWhileTheLockIsHeldAndGoneWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		plain, _ := locktest.Open(t, table, "plain", queuelock.Config{})
		mine := []byte("job 17")
		option := queuelock.WithData(mine)
		copy(mine, "XXX") // the option has a copy
		served := locktest.Acquire(t, a, waitpolicy.Forever, option)
		waiting := make(chan *queuelock.Lock)
		go func() {
			lock, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, queuelock.WithData([]byte("job 18")))
			if err != nil {
				t.Error(err)
			}
			waiting <- lock
		}()
		time.Sleep(10 * time.Minute) // heartbeats keep it
		if got := locktest.Must(a.Inspect(t.Context(), locktest.Order)); string(got.Serving[0].Data) != "job 17" || len(got.Waiting) != 1 {
			t.Errorf("%+v", got)
		}
		for _, item := range table.Items() {
			if _, ok := item["data"]; ok {
				t.Errorf("data in a row, or beside the entry: %v", item)
			}
		}
		_, err := plain.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
		busy, ok := errors.AsType[*queuelock.NotAcquiredError](err)
		if !ok || busy.Serving == nil || string(busy.Serving.Data) != "job 17" || strings.Contains(err.Error(), "job") {
			t.Errorf("%v", err)
		}
		locktest.Release(t, served)
		next := <-waiting // by CLAIM
		if got := dataOf(t, table); got != "job 18" {
			t.Errorf("the next holder shows %q", got)
		}
		locktest.Release(t, next)
		lock := locktest.Acquire(t, plain, waitpolicy.Forever)
		if entry := locktest.Entries(table)[0]; entry["data"] != nil || entry["dataSet"] != nil {
			t.Errorf("a holder without data has the entry %v", entry)
		}
		if h := locktest.Must(a.Inspect(t.Context(), locktest.Order)).Serving[0]; h.Data != nil {
			t.Errorf("%+v", h)
		}
		locktest.Release(t, lock)
		for _, nothing := range [][]byte{nil, {}} {
			lock := locktest.Acquire(t, plain, waitpolicy.Forever, queuelock.WithData(nothing))
			if entry := locktest.Entries(table)[0]; entry["data"] != nil {
				t.Errorf("no data has the entry %v", entry)
			}
			locktest.Release(t, lock)
		}
	})
}

func TestSetDataIsOneRequestAndDoesNotRenewTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		if spent := locktest.Cost(table, func() { locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.WithData([]byte("0"))) }); spent.Sent != 1 || spent.WriteUnits != 1 {
			t.Errorf("to acquire with a little data costs %+v", spent)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		c, _ = locktest.Open(t, table, "b", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		before := locktest.Entries(table)[0]
		for i, data := range []string{"step 1", strings.Repeat("x", 4096), "", "step 4"} {
			units := 1.0
			if i == 1 || i == 2 {
				units = 5 // of the larger of what was there and what is
			}
			spent := locktest.Cost(table, func() {
				if err := lock.SetData(t.Context(), []byte(data)); err != nil {
					t.Error(err)
				}
			})
			if spent.Sent != 1 || spent.WriteUnits != units || spent.ReadUnits != 0 {
				t.Errorf("%d bytes cost %+v, want one request of %v units", len(data), spent, units)
			}
			want := data
			if data == "" {
				want = "-"
			}
			if got := dataOf(t, table); got != want {
				t.Errorf("%d bytes stand, want %d", len(got), len(want))
			}
		}
		after := locktest.Entries(table)[0]
		for _, attribute := range []string{"beat", "until", "ttl", "owner", "since"} {
			if !sameValue(before[attribute], after[attribute]) {
				t.Errorf("%s was %v and is %v", attribute, before[attribute], after[attribute])
			}
		}
		locktest.Release(t, lock)
	})
}

func sameValue(a, b types.AttributeValue) bool {
	n, number := a.(*types.AttributeValueMemberN)
	if m, ok := b.(*types.AttributeValueMemberN); number && ok {
		return n.Value == m.Value
	}
	s, text := a.(*types.AttributeValueMemberS)
	if r, ok := b.(*types.AttributeValueMemberS); text && ok {
		return s.Value == r.Value
	}
	return a == nil && b == nil
}

func TestTooMuchDataIsRefusedWithoutARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		much := bytes.Repeat([]byte("x"), 5000)
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.WithData(much))
		locktest.Says(t, err, "WithData", "5000 bytes", "4096")
		if n := db.Counts().Total().Sent; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.WithData(much[:4096]))
		before := db.Counts().Total().Sent
		locktest.Says(t, lock.SetData(t.Context(), much[:4097]), "SetData", "4097 bytes", "4096")
		if n := db.Counts().Total().Sent - before; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		if got := dataOf(t, table); len(got) != 4096 || lock.Err() != nil {
			t.Errorf("%d bytes stand, %v", len(got), lock.Err())
		}
		locktest.Release(t, lock)
	})
}

func TestSetDataGetsThroughWhateverHappensOnTheWay(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"request lost":         queuelocktest.LoseRequest().Times(2),
		"response lost":        queuelocktest.LoseResponse().Times(2),
		"response never comes": queuelocktest.SwallowResponse().Times(1),
		"throttled":            queuelocktest.Refuse(queuelocktest.Throttling).Times(5),
		"arrives twice":        queuelocktest.Duplicate(time.Second),
		"conflict":             queuelocktest.Refuse(queuelocktest.TransactionConflict).Times(3),
		"lands late":           queuelocktest.LandLate(time.Second).Times(1),
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "a", queuelock.Config{})
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			injected := db.Inject(fault.Mentioning("dataSet"))
			for _, data := range []string{"one", "two"} {
				if err := lock.SetData(t.Context(), []byte(data)); err != nil {
					t.Errorf("%q: %v", data, err)
				}
				if got := dataOf(t, table); got != data {
					t.Errorf("%q stands, want %q", got, data)
				}
			}
			if err := table.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := dataOf(t, table); got != "two" || injected.Fired() == 0 {
				t.Errorf("%q stands in the end, want the last; the fault came %d times", got, injected.Fired())
			}
			locktest.Release(t, lock)
		})
	}
}

// The first call's request is held up, its caller gives up, and it arrives
// after the second was confirmed: older data must not come back.
func TestALateSetDataDoesNotReplaceALaterOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		held := db.Inject(queuelocktest.HoldRequest().LandingAnyway().Mentioning("dataSet").Times(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := lock.SetData(ctx, []byte("old")); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, queuelock.ErrLost) {
			t.Errorf("%v, want the caller's deadline", err)
		}
		if err := lock.SetData(t.Context(), []byte("new")); err != nil {
			t.Fatal(err)
		}
		held.Release()
		if err := table.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := dataOf(t, table); got != "new" || lock.Err() != nil {
			t.Errorf("%q stands, %v", got, lock.Err())
		}
		locktest.Release(t, lock)
	})
}

// An earlier call that is overtaken on its way by a later one is answered as if
// they had come in order.
func TestConcurrentSetDataLeaveTheLastThatBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		first := db.Inject(queuelocktest.HoldRequest().Mentioning("dataSet").Times(1))
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := lock.SetData(t.Context(), []byte("first")); err != nil {
				t.Error(err)
			}
		})
		<-first.Reached()
		for range 9 {
			wg.Go(func() {
				if err := lock.SetData(t.Context(), []byte("another")); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if err := lock.SetData(t.Context(), []byte("last")); err != nil {
			t.Error(err)
		}
		first.Release()
		wg.Wait()
		if got := dataOf(t, table); got != "last" || lock.Err() != nil {
			t.Errorf("%q stands, %v", got, lock.Err())
		}
		locktest.Release(t, lock)
	})
}

// Nothing brings a lock back that was lost: the write asks the table whether it
// is held, and the caller is told.
func TestSetDataNeverRevivesALock(t *testing.T) {
	locktest.InBubble(t, "evicted, and does not know yet", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(table.Name()), Key: locktest.RecordKey(),
			UpdateExpression: aws.String("REMOVE holders, servingAfter SET granted = ticketNumber"),
		}); err != nil {
			t.Fatal(err)
		}
		other, _ := locktest.Open(t, table, "b", queuelock.Config{})
		taken := locktest.Acquire(t, other, waitpolicy.NoWait, queuelock.WithData([]byte("b's")))
		err := lock.SetData(t.Context(), []byte("a's"))
		if loss, ok := errors.AsType[*queuelock.LostError](err); !ok || loss.Cause != queuelock.Evicted || !errors.Is(lock.Err(), queuelock.ErrLost) {
			t.Errorf("%v, and the lock says %v", err, lock.Err())
		}
		if got := dataOf(t, table); got != "b's" {
			t.Errorf("%q stands", got)
		}
		locktest.Release(t, taken)
	})
	locktest.InBubble(t, "arrives after the release", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		held := db.Inject(queuelocktest.HoldRequest().LandingAnyway().Mentioning("dataSet"))
		done := make(chan error)
		go func() { done <- lock.SetData(context.Background(), []byte("a's")) }()
		<-held.Reached()
		locktest.Release(t, lock)
		if err := <-done; !errors.Is(err, queuelock.ErrReleased) {
			t.Errorf("%v, want that it was released", err)
		}
		next := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.WithData([]byte("next")))
		held.Release()
		if err := table.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := dataOf(t, table); got != "next" {
			t.Errorf("%q stands", got)
		}
		locktest.Release(t, next)
	})
	locktest.InBubble(t, "lost by the clock, and released", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		db.Partition()
		<-lock.Done()
		db.Heal()
		before := db.Counts().Total().Sent
		if err := lock.SetData(t.Context(), nil); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("%v", err)
		}
		if n := db.Counts().Total().Sent - before; n != 0 {
			t.Errorf("%d requests were sent for a lost lock", n)
		}
		_ = lock.Release(t.Context())
		lock = locktest.Acquire(t, c, waitpolicy.Forever)
		locktest.Release(t, lock)
		synctest.Wait() // what runs in the background
		before = db.Counts().Total().Sent
		if err := lock.SetData(t.Context(), []byte("x")); !errors.Is(err, queuelock.ErrReleased) || db.Counts().Total().Sent != before {
			t.Errorf("%v, after %d requests", err, db.Counts().Total().Sent-before)
		}
	})
	locktest.InBubble(t, "lost while the table does not answer", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		db.Partition()
		begun := time.Now()
		if err := lock.SetData(t.Context(), []byte("x")); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("%v", err)
		}
		if took := time.Since(begun); took > locktest.TTL {
			t.Errorf("it went on for %v", took)
		}
	})
}

func TestEngineDataIsShownAndSet(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		all := make([]byte, 4096)
		for i := range all {
			all[i] = byte(i)
		}
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.WithData(all))
		shown := func() []byte { return locktest.Must(c.Inspect(t.Context(), locktest.Order)).Serving[0].Data }
		if !bytes.Equal(shown(), all) {
			t.Errorf("%d bytes are shown, want all 4096", len(shown()))
		}
		if err := lock.SetData(t.Context(), []byte("short")); err != nil || string(shown()) != "short" {
			t.Errorf("%q is shown, %v", shown(), err)
		}
		db.Inject(queuelocktest.LoseResponse().Mentioning("dataSet").Times(1))
		if err := lock.SetData(t.Context(), all[:100]); err != nil || !bytes.Equal(shown(), all[:100]) {
			t.Errorf("%q is shown, %v", shown(), err)
		}
		if err := lock.SetData(t.Context(), nil); err != nil || shown() != nil {
			t.Errorf("%q is shown, %v", shown(), err)
		}
		if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(table.Name()), Key: locktest.RecordKey(), UpdateExpression: aws.String("SET holders = :nobody"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":nobody": &types.AttributeValueMemberM{}},
		}); err != nil {
			t.Fatal(err)
		}
		if err := lock.SetData(t.Context(), []byte("late")); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("%v, want a loss", err)
		}
		if n := len(locktest.Must(c.Inspect(t.Context(), locktest.Order)).Serving); n != 0 {
			t.Errorf("%d holders are in the record", n)
		}
	})
}
