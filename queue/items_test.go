package queue_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// TestSortKeys checks that a ticket is read back from its sort key.
func TestSortKeys(t *testing.T) {
	reason := func() string { return []string{"", "a", "lock", "a b", "ü\n", "\x00"}[rand.IntN(6)] }
	for range 200 {
		q := queue.Items{PK: "p", SK: "s", Entity: "e", Reason: reason()}
		padded := fmt.Sprintf("%019d%019d", rand.Int64N(1e18)>>rand.IntN(60), rand.Int64N(1e18))
		number := locktest.Must(ticket.Parse(padded))
		item := q.Key(q.SortKey(number))
		if got, ok := q.Padded(item); !ok || got != padded {
			t.Fatalf("%v has the number %q, %v", item, got, ok)
		}
		other := q
		other.Reason = reason()
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
	}
}
