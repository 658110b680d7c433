package properties_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/queue"
)

func TestLeaseRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := queue.Lease{
			Beat: rapid.Int64().Draw(t, "beat"),
			TTL:  time.Duration(rapid.Int64Range(1, queue.MaxLease.Milliseconds()).Draw(t, "ttl")) * time.Millisecond,
		}
		if rapid.Bool().Draw(t, "timed") {
			want.Until = time.UnixMilli(rapid.Int64Range(0, 1<<45).Draw(t, "until"))
		}
		item := clause.Item{"other": clause.String("kept")}
		want.Delay = time.Duration(rapid.Int64Range(0, queue.MaxDelay.Milliseconds()).Draw(t, "delay")) * time.Millisecond
		want.Fill(item)
		r := clause.Reader{Item: item}
		got := queue.ReadHolderLease(&r)
		if r.Err != nil || got != want || got.Length() != want.TTL+want.Delay {
			t.Fatalf("read %+v, %v, want %+v", got, r.Err, want)
		}
		_, ends := item["until"]
		_, delays := item["delay"]
		if ends == want.Until.IsZero() || delays == (want.Delay == 0) || item["other"] == nil || len(item) > 5 {
			t.Fatalf("filled in %v, want an end only if it is known, and a delay only if there is one", item)
		}
		row := clause.Reader{Item: item}
		if got := queue.ReadLease(&row); row.Err != nil || got.Delay != 0 {
			t.Fatalf("of a row read %+v, %v, want no delay", got, row.Err)
		}
	})
}
