package counter_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

// TestRaise checks that a counter is raised and never lowered.
func TestRaise(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	m := newCounter(tb, "client")
	raise := func(to uint64) {
		t.Helper()
		locktest.Check(t, m.Raise(t.Context(), ticket.FromUint64(1), ticket.FromUint64(to)))
	}
	next := func(want uint64) {
		t.Helper()
		if got, err := m.Next(t.Context()); err != nil || got != ticket.FromUint64(want) {
			t.Errorf("%s, %v, want %d", got, err, want)
		}
	}
	raise(5) // there is none
	next(1)
	raise(9)
	next(10)
	raise(10)
	raise(3)
	next(11)

	for _, far := range []ticket.Number{ticket.Max, ticket.FromUint64(12 + counter.MaxRaise)} {
		locktest.Is(t, m.Raise(t.Context(), ticket.FromUint64(11), far), counter.ErrFar)
	}
	next(12)
	raise(1 + counter.MaxRaise)
	next(2 + counter.MaxRaise)
	locktest.Check(t, m.Raise(t.Context(), ticket.Max.Previous(), ticket.Max))
	if _, err := m.Next(t.Context()); !errors.Is(err, ticket.ErrExhausted) {
		t.Errorf("after the last number: %v", err)
	}
	given(t, tb, clause.Item{"ticketNumber": &types.AttributeValueMemberS{Value: "1"}})
	raise(20) // left alone
	if _, err := m.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "ticketNumber") {
		t.Errorf("of an item that is no counter: %v", err)
	}
}
