package waiter

import (
	"errors"
	"testing"

	"github.com/queuelock/queuelock/queue"
)

func TestHandle(t *testing.T) {
	handle, problem := Handle{ID: "p", Ticket: n(7)}, errors.New("malformed")
	mine := queue.Holder{ID: "p-3", Ticket: n(7), Lease: queue.Lease{TTL: 1000}}
	unconfirmed, endless, broken := mine, mine, mine
	unconfirmed.Lease.FailClosed = true
	endless.Lease = queue.Lease{Beat: 1, FailClosed: true}
	broken.Lease, broken.Problem = queue.Lease{}, problem
	for name, test := range map[string]struct {
		holders []queue.Holder
		found   bool
		gone    bool
		failed  bool
	}{
		"FindsItsHolder":          {holders: []queue.Holder{{ID: "q-1", Ticket: n(6)}, mine}, found: true},
		"IgnoresOtherTicket":      {holders: []queue.Holder{{ID: "p-3", Ticket: n(6)}}},
		"IgnoresOtherID":          {holders: []queue.Holder{{ID: "pp-3", Ticket: n(7)}}},
		"IsGoneBeforeConfirm":     {holders: []queue.Holder{unconfirmed}, found: true, gone: true, failed: true},
		"LeavesEndlessToOperator": {holders: []queue.Holder{endless}, found: true, failed: true},
		"ReportsUnreadable":       {holders: []queue.Holder{broken}, found: true, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			h, found, err := handle.holder(record(7, test.holders...))
			_, gone := errors.AsType[*GoneError](err)
			if found != test.found || gone != test.gone || (err != nil) != test.failed {
				t.Errorf("found %v, error %v", found, err)
			}
			if found && h.ID != mine.ID {
				t.Errorf("holder %+v", h)
			}
		})
	}
	t.Run("OfGrantNamesItsHolder", func(t *testing.T) {
		got := (&Grant{ID: "p-3", Ticket: n(7)}).Handle()
		if _, found, err := got.holder(record(7, mine)); got != handle || !found || err != nil {
			t.Errorf("handle %+v, found %v, error %v", got, found, err)
		}
	})
}
