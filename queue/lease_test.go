package queue_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/queue"
)

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
