package waiter

import (
	"slices"
	"testing"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/dbclock"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var instant = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

func n(i int) ticket.Number { return ticket.FromUint64(uint64(i)) }

func record(granted int, holders ...queue.Holder) queue.Record {
	return queue.Record{Exists: true, Present: true, TicketNumber: n(20), Granted: n(granted), Holders: holders}
}

func TestAttempts(t *testing.T) {
	t.Run("HaveIDsOfTheirOwn", func(t *testing.T) {
		w := newTestWaiter(t, Config{Entry: Entry{Owner: "o", Data: []byte("d"), Terms: heartbeat.Terms{TTL: time.Minute}}})
		w.id = "p"
		first, entry := w.attempt(false)
		second, _ := w.attempt(true)
		if first.id != "p-0" || second.id != "p-1" || first.claimed || !second.claimed {
			t.Errorf("attempts %+v and %+v", first, second)
		}
		if entry.ID != first.id || entry.Owner != "o" || string(entry.Data) != "d" || entry.Lease.TTL != time.Minute || first.lease.TTL != time.Minute {
			t.Errorf("entry %+v of attempt %+v", entry, first)
		}
	})
	t.Run("AreNotAdoptedOnceGivenUp", func(t *testing.T) {
		as := attempts{{id: "a"}, {id: "b", given: true}, {id: "c"}}
		if got := as.ids(); !slices.Equal(got, []string{"a", "c"}) {
			t.Errorf("ids %v", got)
		}
		if a, _ := as.find(record(7, queue.Holder{ID: "b", Ticket: n(7)})); a != nil {
			t.Errorf("found %+v", a)
		}
		a, entry := as.find(record(7, queue.Holder{ID: "c", Ticket: n(7)}))
		if a != as[2] || entry.Ticket != n(7) {
			t.Errorf("found %+v with %+v", a, entry)
		}
	})
}

// TestRemains checks which entries of attempts are to be removed: what the last snapshot shows of those that were given
// up, whether or not one was removed before. A look is needed only for these.
func TestRemains(t *testing.T) {
	shown := record(7, queue.Holder{ID: "a", Ticket: n(7)})
	for name, test := range map[string]struct {
		a    attempt
		rec  queue.Record
		want bool
	}{
		"GivenUp":               {a: attempt{given: true, unknown: true}, rec: shown, want: true},
		"PutAgainByALateCopy":   {a: attempt{given: true}, rec: shown, want: true},
		"RemovedWithoutAnswer":  {a: attempt{given: true, unknown: true}, rec: record(7)},
		"NotGivenUp":            {a: attempt{unknown: true}, rec: shown},
		"OfAnotherProcessDelay": {a: attempt{given: true, resumed: true, lease: queue.Lease{Delay: time.Hour}}, rec: shown},
	} {
		t.Run(name, func(t *testing.T) {
			test.a.id = "a"
			w := &Waiter{snapshot: queue.SnapshotOf(test.rec, time.Now())}
			if got := w.remains(&test.a); got != test.want {
				t.Errorf("it remains: %v, want %v", got, test.want)
			}
		})
	}
}

func TestUnknownAttempts(t *testing.T) {
	many := make(attempts, queue.MaxEvicted+5)
	for i := range many {
		many[i] = &attempt{id: string(rune('0' + i)), unknown: true}
	}
	for name, test := range map[string]struct {
		all  attempts
		want []string
	}{
		"None":               {all: attempts{{id: "a"}, {id: "b", given: true}}},
		"AlsoGivenUp":        {all: attempts{{id: "a", unknown: true, given: true}}, want: []string{"a"}},
		"UnconfirmedLast":    {all: attempts{{id: "a", unknown: true, confirming: n(3)}, {id: "b", unknown: true}}, want: []string{"b", "a"}},
		"NotBeforeLockDelay": {all: attempts{{id: "a", unknown: true, resumed: true, lease: queue.Lease{Delay: time.Second}}}},
		"ResumedNoDelay":     {all: attempts{{id: "a", unknown: true, resumed: true}}, want: []string{"a"}},
		"AtMostOneRequest":   {all: many, want: idsOf(many[5:])},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.all.unknown(); !slices.Equal(got, test.want) {
				t.Errorf("ids %v, want %v", got, test.want)
			}
		})
	}
}

func idsOf(all attempts) (ids []string) {
	for _, a := range all {
		ids = append(ids, a.id)
	}
	return ids
}

func TestUsableGrant(t *testing.T) {
	terms := heartbeat.Terms{TTL: time.Minute, Margin: 6 * time.Second}
	ahead := dbclock.New() // says that more time has passed than the local clock
	ahead.Observe(instant, instant, instant.Add(time.Hour))
	for name, test := range map[string]struct {
		after time.Duration
		entry queue.Holder
		until time.Time
		clock *dbclock.Clock
		want  bool
	}{
		"AtOnce":              {want: true},
		"BeforeItsDeadline":   {after: 53 * time.Second, want: true},
		"NotAfterItsDeadline": {after: 54 * time.Second},
		"NotUnreadable":       {entry: queue.Holder{Problem: errMissing}}, // without a lease
		"NotAfterSuspension":  {until: instant.Add(time.Minute), clock: ahead},
	} {
		t.Run(name, func(t *testing.T) {
			a := &attempt{sent: instant, lease: queue.Lease{TTL: time.Minute, Until: test.until}}
			if test.clock == nil {
				test.clock = dbclock.New()
			}
			if got := a.usable(test.entry, terms, test.clock, instant.Add(test.after)); got != test.want {
				t.Errorf("usable is %v", got)
			}
		})
	}
}
