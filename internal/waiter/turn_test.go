package waiter

import (
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestNextTurn(t *testing.T) {
	for name, test := range map[string]struct {
		rec  queue.Record
		want bool
	}{
		"RightAboveFloor":  {rec: record(6), want: true},
		"NotWithTicket":    {rec: record(5)},
		"NotAtFloor":       {rec: record(7)},
		"NotWithoutRecord": {rec: queue.Record{Granted: n(6)}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&Waiter{ticket: n(7), snapshot: queue.SnapshotOf(test.rec, time.Now())}).next(); got != test.want {
				t.Errorf("next is %v", got)
			}
		})
	}
}

func TestRestWithoutWait(t *testing.T) {
	for name, test := range map[string]struct {
		noWait bool
		after  step
		failed bool
		times  int
		want   error
	}{
		"IsBusyIfAnotherIsAhead":   {noWait: true, after: keepWaiting, times: 1, want: ErrBusy},
		"LooksAgainFiveTimes":      {noWait: true, after: lookAgain, times: quickTries},
		"IsBusyAfterThat":          {noWait: true, after: lookAgain, times: quickTries + 1, want: ErrBusy},
		"DoesNotCountFailures":     {noWait: true, after: lookAgain, failed: true, times: 100},
		"LooksAgainForLongIfWaits": {after: lookAgain, times: 100},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWaiter(t, Config{NoWait: test.noWait})
			if test.failed {
				w.failure = errTimeout
			}
			var err error
			for range test.times {
				var seen bool
				if seen, err = w.rest(t.Context(), test.after); seen {
					t.Fatal("it goes on without a look")
				}
			}
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func TestDelayOfTurn(t *testing.T) {
	schedule := waitpolicy.Schedule{Fastest: time.Second, SlowestNext: 5 * time.Second, Slowest: time.Minute}
	slots := make(chan struct{}, 1)
	for name, test := range map[string]struct {
		slots    chan struct{}
		slot     bool
		ahead    int
		min, max time.Duration
		waits    bool // for a slot
	}{
		"IsShortToJoin":          {ahead: 1, min: 2 * time.Second, max: 2 * time.Second},
		"IsBoundedToJoin":        {ahead: 100, min: 5 * time.Second, max: 5 * time.Second},
		"IsLongWithoutSlot":      {slots: slots, min: 20 * time.Second, max: time.Minute, waits: true},
		"IsAsUsualWithSlot":      {slots: slots, slot: true, min: time.Second, max: time.Second},
		"IsAsUsualForSingleLock": {min: time.Second, max: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWaiter(t, Config{Schedule: schedule, Several: Several{Slots: test.slots}})
			w.turn.slot, w.snapshot = test.slot, queue.SnapshotOf(record(6), time.Now())
			w.progress.pace.Decided(queue.Decision{Joins: true})
			w.progress.status.Ahead = test.ahead
			d, waits := w.delay(t.Context())
			if d < test.min || d > test.max || (waits != nil) != test.waits {
				t.Errorf("%v, waits for a slot %v, want %v to %v, %v", d, waits != nil, test.min, test.max, test.waits)
			}
		})
	}
}
