package queue_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/testbed/property"
	"github.com/queuelock/queuelock/queue"
)

// TestRoundTrip checks that a lease is read as it was written.
func TestRoundTrip(t *testing.T) {
	property.Check(t, func(t *property.T) {
		want := queue.Lease{
			Beat: property.Int64().Draw(t, "beat"),
			TTL:  time.Duration(property.Int64Range(1, queue.MaxLease.Milliseconds()).Draw(t, "ttl")) * time.Millisecond,
		}
		if property.Bool().Draw(t, "timed") {
			want.Until = time.UnixMilli(property.Int64Range(0, 1<<45).Draw(t, "until"))
		}
		item := clause.Item{"other": clause.String("kept")}
		want.Delay = time.Duration(property.Int64Range(0, queue.MaxDelay.Milliseconds()).Draw(t, "delay")) * time.Millisecond
		want.Fill(item)
		r := clause.Reader{Item: item}
		got := queue.ReadHolderLease(&r)
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
		row := clause.Reader{Item: item}
		if got := queue.ReadLease(&row); row.Err != nil || got.Delay != 0 {
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
		{"ttl", clause.String("60000"), "is a string"},
		{"ttl", nil, "is missing"},
		{"beat", nil, "is missing"},
		{"beat", clause.String("1"), "is a string"},
		{"beat", n("9223372036854775808"), "whole number"},
		{"beat", n("0.5"), "whole number"},
		{"until", clause.String("soon"), "is a string"},
		{"until", &types.AttributeValueMemberNULL{Value: true}, "is null"},
		{"until", n("1E+999999999"), "whole number"},
		{"delay", n("-1"), "is -1 ms"},
		{"delay", n("86400001"), "is 86400001 ms"},
		{"delay", n("0.5"), "whole number"},
		{"delay", clause.String("60000"), "is a string"},
	} {
		item := clause.Item{}
		queue.Lease{Beat: 1, TTL: time.Minute, Until: time.UnixMilli(1)}.Fill(item)
		item[test.attribute] = test.value
		if test.value == nil {
			delete(item, test.attribute)
		}
		r := clause.Reader{What: "row", Item: item}
		queue.ReadHolderLease(&r)
		malformed, ok := errors.AsType[*clause.MalformedError](r.Err)
		if !ok || malformed.Attribute != test.attribute || !strings.Contains(r.Err.Error(), test.say) {
			t.Errorf("%s = %v: got %v, want an error of %s that says %q", test.attribute, test.value, r.Err, test.attribute, test.say)
		}
	}
	for _, ttl := range []string{"1", "604800000", "6048E+5"} {
		r := clause.Reader{Item: clause.Item{"beat": n("0"), "ttl": n(ttl)}}
		if got := queue.ReadLease(&r); r.Err != nil || got.TTL <= 0 || got.TTL > queue.MaxLease || !got.Until.IsZero() {
			t.Errorf("a ttl of %s ms is read as %+v, %v", ttl, got, r.Err)
		}
	}
}
