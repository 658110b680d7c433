package lease_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/table"
)

// TestRoundTrip checks that a lease is read as it was written.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := lease.Lease{
			Beat: rapid.Int64().Draw(t, "beat"),
			TTL:  time.Duration(rapid.Int64Range(1, lease.Max.Milliseconds()).Draw(t, "ttl")) * time.Millisecond,
		}
		if rapid.Bool().Draw(t, "timed") {
			want.Until = time.UnixMilli(rapid.Int64Range(0, 1<<45).Draw(t, "until"))
		}
		item := table.Item{"other": table.String("kept")}
		want.Delay = time.Duration(rapid.Int64Range(0, lease.MaxDelay.Milliseconds()).Draw(t, "delay")) * time.Millisecond
		want.Fill(item)
		r := table.Reader{Item: item}
		got := lease.ReadHolder(&r)
		if r.Err != nil || got.Delay != want.Delay || got.Length() != want.TTL+want.Delay || got.Beat != want.Beat || got.TTL != want.TTL || !got.Until.Equal(want.Until) || got.Until.IsZero() != want.Until.IsZero() {
			t.Fatalf("read %+v, %v, want %+v", got, r.Err, want)
		}
		if _, ok := item["until"]; ok == want.Until.IsZero() {
			t.Fatalf("filled in %v, want an end only if it is known", item)
		}
		if _, ok := item["other"]; !ok || len(item) > 5 {
			t.Fatalf("filled in %v", item)
		}
		if _, ok := item["delay"]; ok == (want.Delay == 0) {
			t.Fatalf("filled in %v, want a delay only if there is one", item)
		}
		row := table.Reader{Item: item}
		if got := lease.Read(&row); row.Err != nil || got.Delay != 0 {
			t.Fatalf("of a row read %+v, %v, want no delay", got, row.Err)
		}
	})
}

// TestMalformedLease checks that a malformed lease is refused.
func TestMalformedLease(t *testing.T) {
	n := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
	for _, test := range []struct {
		attribute string
		value     types.AttributeValue
		say       string
	}{
		{"ttl", n("0"), "is 0 ms"},
		{"ttl", n("-1"), "is -1 ms"},
		{"ttl", n("604800001"), "is 604800001 ms"},
		{"ttl", n("1.5"), "whole number"},
		{"ttl", n("1E+30"), "whole number"},
		{"ttl", table.String("60000"), "is a string"},
		{"ttl", nil, "is missing"},
		{"beat", nil, "is missing"},
		{"beat", table.String("1"), "is a string"},
		{"beat", n("9223372036854775808"), "whole number"},
		{"beat", n("0.5"), "whole number"},
		{"until", table.String("soon"), "is a string"},
		{"until", &types.AttributeValueMemberNULL{Value: true}, "is null"},
		{"until", n("1E+999999999"), "whole number"},
		{"delay", n("-1"), "is -1 ms"},
		{"delay", n("86400001"), "is 86400001 ms"},
		{"delay", n("0.5"), "whole number"},
		{"delay", table.String("60000"), "is a string"},
	} {
		item := table.Item{}
		lease.Lease{Beat: 1, TTL: time.Minute, Until: time.UnixMilli(1)}.Fill(item)
		item[test.attribute] = test.value
		if test.value == nil {
			delete(item, test.attribute)
		}
		r := table.Reader{What: "row", Item: item}
		lease.ReadHolder(&r)
		malformed, ok := errors.AsType[*table.MalformedError](r.Err)
		if !ok || malformed.Attribute != test.attribute || !strings.Contains(r.Err.Error(), test.say) {
			t.Errorf("%s = %v: got %v, want an error of %s that says %q", test.attribute, test.value, r.Err, test.attribute, test.say)
		}
	}
	for _, ttl := range []string{"1", "604800000", "6048E+5"} {
		r := table.Reader{Item: table.Item{"beat": n("0"), "ttl": n(ttl)}}
		if got := lease.Read(&r); r.Err != nil || got.TTL <= 0 || got.TTL > lease.Max || !got.Until.IsZero() {
			t.Errorf("a ttl of %s ms is read as %+v, %v", ttl, got, r.Err)
		}
	}
}

// TestUntil checks that a lease is requested until the latest time at which it can end.
func TestUntil(t *testing.T) {
	w := newWorld(90*time.Minute, 0)
	terms := lease.Terms{TTL: time.Minute, Margin: lease.Margin(time.Minute)}
	if l, since := terms.Begin(w.owner, w.now); !l.Until.IsZero() || !since.IsZero() || l.TTL != time.Minute {
		t.Errorf("without an estimate the lease is %+v, from %v", l, since)
	}
	w.answer(w.owner)
	earliest, latest, _ := w.owner.At(w.now)
	l, since := terms.Begin(w.owner, w.now)
	if !l.Until.Equal(latest.Add(time.Minute)) || l.Beat != 0 {
		t.Errorf("the lease is %+v, want its end at %v", l, latest.Add(time.Minute))
	}
	if since.Before(earliest) || since.After(latest) {
		t.Errorf("it begins at %v, want between %v and %v", since, earliest, latest)
	}
	if got, want := terms.Deadline(w.now), w.now.Add(minute-terms.Margin); !got.Equal(want) {
		t.Errorf("the owner's deadline is %v, want %v", got, want)
	}
}

// TestMargin checks that the margin leaves most of a lease, and covers drift.
func TestMargin(t *testing.T) {
	for ttl := time.Second; ttl <= lease.Max; ttl += ttl / 3 {
		margin := lease.Margin(ttl)
		if margin <= 0 || margin > ttl/10 {
			t.Errorf("of a lease of %v the margin is %v", ttl, margin)
		}
		// Owner and observer may each run 500 ppm apart from DynamoDB's clock.
		if drift := ttl / 1000; margin < drift {
			t.Errorf("of a lease of %v the margin is %v, and clocks may drift by %v", ttl, margin, drift)
		}
	}
	for ttl, want := range map[time.Duration]time.Duration{time.Second: 100 * time.Millisecond, 20 * time.Second: 2 * time.Second, time.Minute: 2060 * time.Millisecond} {
		if got := lease.Margin(ttl); got != want {
			t.Errorf("of a lease of %v the margin is %v, want %v", ttl, got, want)
		}
	}
}
