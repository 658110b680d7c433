package waiter

import (
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/testbed/records"
	"github.com/queuelock/queuelock/queue"
)

func TestEnteredTicket(t *testing.T) {
	for name, test := range map[string]struct {
		rec    queue.Record
		noWait bool
		times  int
		want   error
	}{
		"MayWaitAboveTheFloor":       {rec: record(6), times: 1},
		"IsWorthlessAtTheFloor":      {rec: record(7), times: 1, want: ErrNewTicket},
		"IsItsOwnGrant":              {rec: record(7, queue.Holder{ID: "me", Ticket: n(7)}), times: 1},
		"IsWorthlessForLong":         {rec: record(7), times: 100, want: ErrNewTicket},
		"IsWorthlessForFiveOfNoWait": {rec: record(7), noWait: true, times: quickTries, want: ErrNewTicket},
		"IsBusyAfterThatWithNoWait":  {rec: record(7), noWait: true, times: quickTries + 1, want: ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWaiter(t, Config{NoWait: test.noWait})
			w.ticket, w.attempts = n(7), attempts{{id: "me"}}
			var err error
			for range test.times {
				err = w.afterEnter(test.rec)
			}
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if w.Highest().Ticket != n(20) || w.Status().Ticket != n(7) {
				t.Errorf("highest %v, status %+v", w.Highest(), w.Status())
			}
		})
	}
}

func TestHighest(t *testing.T) {
	w := newTestWaiter(t, Config{})
	for _, step := range []struct{ raise, want int }{{3, 3}, {9, 9}, {4, 9}} {
		if w.raise(Highest{Ticket: n(step.raise)}); w.highest.Ticket != n(step.want) {
			t.Errorf("after %d it is %s, want %d", step.raise, w.highest.Ticket, step.want)
		}
	}
}

func TestMakeRoom(t *testing.T) {
	holder := queue.Holder{ID: "h", Ticket: n(7), Lease: queue.Lease{TTL: time.Minute}}
	stuck := queue.Holder{ID: "h", Ticket: n(7), Problem: errors.New("cannot be read")}
	held := record(7, holder)
	permits := held
	permits.Permits = 2
	full := permits
	full.Holders = []queue.Holder{holder, {ID: "i", Ticket: n(6), Lease: queue.Lease{TTL: time.Minute}}}
	for name, test := range map[string]struct {
		rec       queue.Record
		mode      queue.Mode
		want      error
		malformed bool
	}{
		"NotWithoutHolders":   {rec: record(7)},
		"WithHolder":          {rec: held, want: ErrBusy},
		"NotWithPermits":      {rec: permits, mode: queue.Mode{Permits: 2}},
		"WithAllPermitsInUse": {rec: full, mode: queue.Mode{Permits: 2}, want: ErrBusy},
		"SaysWhyIfStuck":      {rec: record(7, stuck), malformed: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWaiter(t, Config{Entry: Entry{Mode: test.mode}})
			err := w.makeRoom(t.Context(), records.Read(test.rec))
			_, malformed := errors.AsType[*clause.MalformedError](err)
			if malformed != test.malformed || !malformed && err != test.want {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}
