package counter_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

// TestPlainCounter checks that a plain counter issues each number once.
func TestPlainCounter(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	var mu sync.Mutex
	issued := map[ticket.Number]bool{}
	var wg sync.WaitGroup
	for range 8 {
		m := newCounter(tb, "client")
		wg.Go(func() {
			for range 10 {
				n, err := m.Next(t.Context())
				mu.Lock()
				if err != nil || issued[n] || n.After(ticket.FromUint64(80)) != 0 {
					t.Errorf("%s, %v, issued before: %v", n, err, issued[n])
				}
				issued[n] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// TestRaise checks that a counter is raised and never lowered.
func TestRaise(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	m := newCounter(tb, "client")
	raise := func(to uint64) {
		t.Helper()
		if err := m.Raise(t.Context(), ticket.FromUint64(1), ticket.FromUint64(to)); err != nil {
			t.Error(err)
		}
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
		if err := m.Raise(t.Context(), ticket.FromUint64(11), far); !errors.Is(err, counter.ErrFar) {
			t.Errorf("raised to %s: %v", far, err)
		}
	}
	next(12)
	raise(1 + counter.MaxRaise)
	next(2 + counter.MaxRaise)
	if err := m.Raise(t.Context(), ticket.Max.Previous(), ticket.Max); err != nil {
		t.Error(err)
	}
	if _, err := m.Next(t.Context()); !errors.Is(err, ticket.ErrExhausted) {
		t.Errorf("after the last number: %v", err)
	}
	given(t, tb, clause.Item{"ticketNumber": &types.AttributeValueMemberS{Value: "1"}})
	raise(20) // left alone
	if _, err := m.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "ticketNumber") {
		t.Errorf("of an item that is no counter: %v", err)
	}
}
