package requests_test

import (
	"errors"
	"testing"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
)

// The table of what a record says of holder "me", served with ticket 5, and of
// its second release call. At its grant the marks were those of ticket 4.
func TestRecordOutcome(t *testing.T) {
	before := queue.Released{ID: "before", Ticket: n(4), Call: 1}
	seed := queue.Eviction{ID: "seed"}
	seen := queue.Marks{Released: before, Evicted: seed}
	mine := func(call int64) queue.Released { return queue.Released{ID: "me", Ticket: n(5), Call: call} }
	later := queue.Released{ID: "later", Ticket: n(6), Call: 2}
	evictedMe := queue.Eviction{ID: "me", Ticket: n(5)}
	evictedLater := queue.Eviction{ID: "later", Ticket: n(7)}
	me := []queue.Holder{{ID: "me", Ticket: n(5)}}
	for _, c := range []struct {
		name string
		now  queue.Record
		seen queue.Marks
		want machine.Outcome
	}{
		{"held", queue.Record{Exists: true, Holders: me, Marks: seen}, seen, machine.OutcomeHeld},
		{"held, whatever the marks say", queue.Record{Exists: true, Holders: me, Marks: queue.Marks{Released: later}}, seen, machine.OutcomeHeld},
		{"an orphaned entry with another ticket", queue.Record{Exists: true, Holders: []queue.Holder{{ID: "me", Ticket: n(6)}}, Marks: seen}, seen, machine.OutcomeEvicted},
		{"no record", queue.Record{}, seen, machine.OutcomeGone},
		{"an item without the record", queue.Record{Item: clause.Item{}}, seen, machine.OutcomeGone},
		{"released by this call", queue.Record{Exists: true, Marks: queue.Marks{Released: mine(2), Evicted: seed}}, seen, machine.OutcomeReleased},
		{"released by an earlier call", queue.Record{Exists: true, Marks: queue.Marks{Released: mine(1), Evicted: seed}}, seen, machine.OutcomeReleasedEarlier},
		{"released, then others evicted", queue.Record{Exists: true, Marks: queue.Marks{Released: mine(2), Evicted: evictedLater}}, seen, machine.OutcomeReleased},
		{"evicted", queue.Record{Exists: true, Marks: queue.Marks{Released: before, Evicted: evictedMe}}, seen, machine.OutcomeEvicted},
		{"evicted, then others released", queue.Record{Exists: true, Marks: queue.Marks{Released: later, Evicted: evictedMe}}, seen, machine.OutcomeEvicted},
		{"removed by hand", queue.Record{Exists: true, Marks: seen}, seen, machine.OutcomeEvicted},
		{"evicted, then another", queue.Record{Exists: true, Marks: queue.Marks{Released: before, Evicted: evictedLater}}, seen, machine.OutcomeEvicted},
		{"released, then others released", queue.Record{Exists: true, Marks: queue.Marks{Released: later, Evicted: seed}}, seen, machine.OutcomeReleasedSome},
		{"others released, and an entry whose ticket cannot be read", queue.Record{Exists: true, Holders: []queue.Holder{{ID: "me", Problem: errors.New("bad")}}, Marks: queue.Marks{Released: later, Evicted: seed}}, seen, machine.OutcomeUnknown},
		{"released, and an orphaned entry with another ticket", queue.Record{Exists: true, Holders: []queue.Holder{{ID: "me", Ticket: n(6)}}, Marks: queue.Marks{Released: later, Evicted: seed}}, seen, machine.OutcomeReleasedSome},
		{"others released and were evicted since", queue.Record{Exists: true, Marks: queue.Marks{Released: later, Evicted: evictedLater}}, seen, machine.OutcomeUnknown},
		{"removed by hand before any release", queue.Record{Exists: true, Marks: queue.Marks{Evicted: seed}}, queue.Marks{Evicted: seed}, machine.OutcomeEvicted},
		{"released before any other release", queue.Record{Exists: true, Marks: queue.Marks{Released: later, Evicted: seed}}, queue.Marks{Evicted: seed}, machine.OutcomeReleasedSome},
		{"a new record", queue.Record{Exists: true, Marks: queue.Marks{Evicted: queue.Eviction{ID: "other seed"}}}, queue.Marks{Evicted: seed}, machine.OutcomeUnknown},
		{"a new record in which one was evicted", queue.Record{Exists: true, Marks: queue.Marks{Evicted: evictedLater}}, queue.Marks{Evicted: seed}, machine.OutcomeUnknown},
		{"a new record with a release", queue.Record{Exists: true, Marks: queue.Marks{Released: later, Evicted: queue.Eviction{ID: "other seed"}}}, seen, machine.OutcomeUnknown},
		{"a record of a version without marks", queue.Record{Exists: true}, queue.Marks{}, machine.OutcomeUnknown},
		{"marks that were removed", queue.Record{Exists: true}, seen, machine.OutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := machine.OutcomeOf(c.now, "me", n(5), 2, c.seen); got != c.want {
				t.Errorf("got outcome %d, want %d", got, c.want)
			}
		})
	}
}

func TestRecordMade(t *testing.T) {
	holder := func(made int64) queue.Record {
		return queue.Record{Exists: true, Holders: []queue.Holder{{ID: "me", Ticket: n(5), Made: made}}}
	}
	evicted := func(id string, ticket int, made int64) queue.Record {
		return queue.Record{Exists: true, Marks: queue.Marks{Evicted: queue.Eviction{ID: id, Ticket: n(ticket), Made: made}}}
	}
	for _, c := range []struct {
		name string
		now  queue.Record
		want machine.Made
	}{
		{"held, none made", holder(0), machine.MadeNotYet},
		{"held, the one before", holder(2), machine.MadeNotYet},
		{"held, the one before settled", holder(3), machine.MadeNotYet},
		{"held, made", holder(4), machine.MadeYes},
		{"held, settled", holder(5), machine.MadeNever},
		{"evicted before", evicted("me", 5, 2), machine.MadeNever},
		{"evicted after", evicted("me", 5, 4), machine.MadeYes},
		{"evicted when settled", evicted("me", 5, 5), machine.MadeNever},
		{"evicted by hand", evicted("me", 5, -1), machine.MadeUnknown},
		{"an orphaned entry evicted", evicted("me", 6, 4), machine.MadeUnknown},
		{"another evicted", evicted("other", 5, 4), machine.MadeUnknown},
		{"no record", queue.Record{}, machine.MadeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := machine.MadeOf(c.now, "me", n(5), 4); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
