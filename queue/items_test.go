package queue_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/queuelock/queuelock/internal/testbed/property"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// TestSortKeys checks that a ticket is read back from its sort key.
func TestSortKeys(t *testing.T) {
	property.Check(t, func(t *property.T) {
		q := queue.Items{PK: "p", SK: "s", Entity: "e", Reason: property.StringMatching(`[^/]{0,20}`).Draw(t, "reason")}
		padded := property.StringMatching(`[0-9]{38}`).Draw(t, "padded")
		number, err := ticket.Parse(padded)
		if err != nil {
			t.Fatal(err)
		}
		item := q.Key(q.SortKey(number))
		if got, ok := q.Padded(item); !ok || got != padded {
			t.Fatalf("%v has the number %q, %v", item, got, ok)
		}
		other := q
		other.Reason = property.StringMatching(`[^/]{0,20}`).Draw(t, "other reason")
		if _, ok := other.Padded(item); ok != (other.Reason == q.Reason) {
			t.Fatalf("the row of %q is one of %q", q.Reason, other.Reason)
		}
		for _, wrong := range []string{padded + "0", padded[1:], ""} {
			if got, ok := q.Padded(q.Key(q.Reason + "/" + wrong)); ok {
				t.Fatalf("%q is the number of a row: %q", wrong, got)
			}
		}
		if q.SortKey(number) > q.SortKey(ticket.Max) || q.SortKey(number) < q.RecordSortKey() {
			t.Fatal("a row is outside of its queue's range")
		}
		if utf8.ValidString(q.String()) && !strings.Contains(q.String(), q.Entity) {
			t.Fatalf("the queue prints as %q", q)
		}
	})
}
