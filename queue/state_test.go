package queue_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

func n(i int) ticket.Number { return ticket.FromUint64(uint64(i)) }

func TestStatePositions(t *testing.T) {
	state := &queue.State{
		Serving: []queue.Holder{{Ticket: n(3), Remaining: 1}, {Ticket: n(5)}},
		Waiting: []queue.Waiter{{Position: 1, Ticket: n(7)}, {Position: 2, Ticket: n(9), Remaining: 1}},
	}
	for number, want := range map[int]int{0: 0, 3: 0, 7: 1, 8: 0, 9: 2} {
		if got := state.Position(n(number)); got != want {
			t.Errorf("ticket %d is at position %d, want %d", number, got, want)
		}
	}
	if h, ok := state.Holder(n(5)); !ok || h.Ticket != n(5) || !h.Expired() {
		t.Errorf("%+v, %v", h, ok)
	}
	if h, ok := state.Holder(n(7)); ok {
		t.Errorf("a waiter is the holder %+v", h)
	}
	if w, ok := state.Next(); !ok || w.Ticket != n(9) || w.Expired() {
		t.Errorf("%+v, %v", w, ok)
	}
	if w, ok := (&queue.State{Waiting: state.Waiting[:1]}).Next(); ok {
		t.Errorf("an expired waiter is next: %+v", w)
	}
	if state.Idle() || (&queue.State{Waiting: state.Waiting}).Idle() || !(&queue.State{Issued: n(9)}).Idle() {
		t.Error("only a queue without holder and waiter is idle")
	}
}

// TestStateBlocks has the block 12 to 18 that holds, and waiters with the blocks 19 to 23 and 25 to 26.
func TestStateBlocks(t *testing.T) {
	minute := queue.HoldTime{Mean: time.Minute}
	state := &queue.State{
		Serving: []queue.Holder{{Ticket: n(12), Turns: 7, Reached: n(14), Age: 20 * time.Second}},
		Waiting: []queue.Waiter{{Ticket: n(19), Turns: 5}, {Ticket: n(24)}, {Ticket: n(25), Turns: 2}}, HoldTime: minute,
	}
	for number, want := range map[int]bool{11: false, 12: true, 14: true, 18: true, 19: false} {
		if h, ok := state.Holder(n(number)); ok != want || ok && h.Ticket != n(12) {
			t.Errorf("ticket %d: the holder is %+v, %v", number, h, ok)
		}
	}
	for number, want := range map[int]int{18: 0, 19: 1, 21: 3, 23: 5, 24: 6, 25: 7, 26: 8, 27: 0} {
		if got := state.Position(n(number)); got != want {
			t.Errorf("ticket %d is at position %d, want %d", number, got, want)
		}
	}
	for position, rows := range map[int]int{1: 0, 5: 0, 6: 1, 7: 2, 8: 2, 9: 3, 11: 5} {
		if got, want := state.EstimatedWait(position), 40*time.Second+time.Duration(rows)*time.Minute; got != want {
			t.Errorf("position %d waits for %v, want %v", position, got, want)
		}
	}
	if state.Waiters() != 8 {
		t.Errorf("%d waiters, want 8", state.Waiters())
	}
	for reached, want := range map[int]int{0: 6, 11: 6, 12: 6, 14: 4, 18: 0, 19: 6} { // the first and the last are of other programs
		if got := (queue.Holder{Ticket: n(12), Turns: 7, Reached: n(reached)}).Follow(); got != want {
			t.Errorf("reached %d: %d follow, want %d", reached, got, want)
		}
	}
}

func TestStateEstimatedWait(t *testing.T) {
	held := []queue.Holder{{Age: 10 * time.Second}, {}}
	minute := queue.HoldTime{Mean: time.Minute}
	for name, c := range map[string]struct {
		state    queue.State
		position int
		want     time.Duration
	}{
		"FreeLock":         {queue.State{HoldTime: minute}, 1, 0},
		"HeldLock":         {queue.State{HoldTime: minute, Serving: held[:1]}, 1, 50 * time.Second},
		"LongHeldLock":     {queue.State{HoldTime: queue.HoldTime{Mean: time.Second}, Serving: held[:1]}, 3, 2 * time.Second},
		"ThirdInLine":      {queue.State{HoldTime: minute, Serving: held[:1]}, 3, 170 * time.Second},
		"FreePermit":       {queue.State{HoldTime: minute, Permits: 2, Serving: held[:1]}, 1, 0},
		"NoPermit":         {queue.State{HoldTime: minute, Permits: 2, Serving: held}, 2, 80 * time.Second},
		"UnknownHoldTime":  {queue.State{Serving: held}, 3, 0},
		"UnknownPosition":  {queue.State{HoldTime: minute, Serving: held}, 0, 0},
		"WithoutAnyLimits": {queue.State{HoldTime: queue.HoldTime{Mean: math.MaxInt64}}, math.MaxInt32, math.MaxInt64 / 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.state.EstimatedWait(c.position); (got - c.want).Abs() > time.Millisecond {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	malformed := &queue.MalformedError{Item: "serving record", Attribute: "granted", Problem: "is S, need N"}
	if got := malformed.Error(); got != "malformed serving record: attribute granted is S, need N: correct it while no client runs, or use another Reason" {
		t.Error(got)
	}
	cause := errors.New("no such key")
	unusable := &queue.TableError{Table: "t", Found: "one key", Need: "two", Err: cause}
	if got := unusable.Error(); got != `table "t": found one key, need two` || !errors.Is(unusable, cause) {
		t.Error(got)
	}
	long := &queue.TableError{Table: strings.Repeat("ü", 255), Found: strings.Repeat("f", 255), Need: "two"}
	if got := long.Error(); utf8.RuneCountInString(got) != 160 || !strings.Contains(got, `ü…": found f`) || !strings.HasSuffix(got, "f…") {
		t.Error(got)
	}
}
