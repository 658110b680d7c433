package hold_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// dataOf is the data of the only holder; "-" if it has none, or there is no holder.
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

// TestData checks that data is shown while the lock is held, and removed with it.
func TestData(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b, plain := locktest.Three(t, table, queuelock.Config{}, "a", "b", "plain")
		mine := []byte("job 17")
		option := queuelock.WithData(mine)
		copy(mine, "XXX") // the option has a copy
		served := locktest.Acquire(t, a, waitpolicy.Forever, option)
		waiting := locktest.LockBy(t, b, queuelock.WithData([]byte("job 18")))
		time.Sleep(10 * time.Minute) // heartbeats keep it
		if got := locktest.Must(a.Viewer().Inspect(t.Context(), locktest.Order)); string(got.Serving[0].Data) != "job 17" || len(got.Waiting) != 1 {
			t.Errorf("%+v", got)
		}
		for _, item := range table.Items() {
			if _, ok := item["data"]; ok {
				t.Errorf("data in a row, or beside the entry: %s", locktest.PlainItem(item))
			}
		}
		_, err := plain.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
		busy, ok := errors.AsType[*queuelock.NotAcquiredError](err)
		if !ok || busy.Serving == nil || string(busy.Serving.Data) != "job 17" || strings.Contains(err.Error(), "job") {
			t.Errorf("%v", err)
		}
		locktest.Release(t, served)
		next := locktest.Lock(t, <-waiting) // by CLAIM
		if got := dataOf(t, table); got != "job 18" {
			t.Errorf("the next holder shows %q", got)
		}
		locktest.Release(t, next)
		for _, opts := range [][]queuelock.AcquireOption{nil, {queuelock.WithData(nil)}, {queuelock.WithData([]byte{})}} {
			lock := locktest.Acquire(t, plain, waitpolicy.Forever, opts...)
			if entry := locktest.Entries(table)[0]; entry["data"] != nil || entry["dataSet"] != nil && opts == nil {
				t.Errorf("a holder without data has the entry %s", locktest.PlainItem(entry))
			}
			if h := locktest.Must(a.Viewer().Inspect(t.Context(), locktest.Order)).Serving[0]; h.Data != nil {
				t.Errorf("%+v", h)
			}
			locktest.Release(t, lock)
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// TestSetDataRequests checks that SetData is one request and does not renew the lease.
func TestSetDataRequests(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		if spent := locktest.Cost(table, func() { locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.WithData([]byte("0"))) }); spent.Sent != 1 || spent.WriteUnits != 1 {
			t.Errorf("to acquire with a little data costs %+v", spent)
		}
		locktest.OK(t, c.Close(t.Context()))
		c, _ = locktest.Open(t, table, "b", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		before := locktest.Entries(table)[0]
		for i, data := range []string{"step 1", strings.Repeat("x", 4096), "", "step 4"} {
			units := 1.0
			if i == 1 || i == 2 {
				units = 5 // of the larger of what was there and what is
			}
			spent := locktest.Cost(table, func() { locktest.Check(t, lock.SetData(t.Context(), []byte(data))) })
			if spent.Sent != 1 || spent.WriteUnits != units || spent.ReadUnits != 0 {
				t.Errorf("%d bytes cost %+v, want one request of %v units", len(data), spent, units)
			}
			want := data
			if data == "" {
				want = "-"
			}
			if got := dataOf(t, table); got != want {
				t.Errorf("%d bytes are there, want %d", len(got), len(want))
			}
		}
		after := locktest.Entries(table)[0]
		for _, attribute := range []string{"beat", "until", "ttl", "owner", "since"} {
			if !reflect.DeepEqual(before[attribute], after[attribute]) {
				t.Errorf("%s was %v and is %v", attribute, before[attribute], after[attribute])
			}
		}
		locktest.Release(t, lock)
	})
}

func TestTooMuchData(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		much := bytes.Repeat([]byte("x"), 5000)
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.WithData(much))
		locktest.Says(t, err, "WithData", "5000 bytes", "4096")
		locktest.SentNothing(t, db)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.WithData(much[:4096]))
		spent := locktest.Cost(db, func() { err = lock.SetData(t.Context(), much[:4097]) })
		if locktest.Says(t, err, "SetData", "4097 bytes", "4096"); spent.Sent != 0 {
			t.Errorf("%d requests were sent", spent.Sent)
		}
		if got := dataOf(t, table); len(got) != 4096 || lock.Err() != nil {
			t.Errorf("%d bytes are there, %v", len(got), lock.Err())
		}
		locktest.Release(t, lock)
	})
}

// TestConcurrentSetData checks that concurrent calls of SetData leave the data of the call that began last.
func TestConcurrentSetData(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		lock, db := hold(t, table, queuelock.Config{})
		first := db.Inject(queuelocktest.HoldRequest().Mentioning("dataSet").Times(1))
		var wg sync.WaitGroup
		wg.Go(func() { locktest.Check(t, lock.SetData(t.Context(), []byte("first"))) })
		<-first.Reached()
		for range 9 {
			wg.Go(func() { locktest.Check(t, lock.SetData(t.Context(), []byte("another"))) })
		}
		synctest.Wait()
		locktest.Check(t, lock.SetData(t.Context(), []byte("last")))
		first.Release()
		wg.Wait()
		if got := dataOf(t, table); got != "last" || lock.Err() != nil {
			t.Errorf("%q is there, %v", got, lock.Err())
		}
		locktest.Release(t, lock)
	})
}
