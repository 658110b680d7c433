package heartbeat

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestMachine checks a machine after all sequences of up to six to eight events, with and without renewals of its own, and of a
// lease without an end.
func TestMachine(t *testing.T) {
	start := time.Now()
	failed := errors.New("failed")
	const second, margin = time.Second, 3 * time.Second // of the warning
	walk := 0
	type state struct {
		machine
		now       time.Time
		confirmed time.Time // when the last renewal that succeeded was sent
		sending   int
		failing   bool              // the last renewal has failed
		deadlines map[time.Time]int // warnings of each
		wait      bool              // Extend waits for a renewal that is sent from now on
	}
	var visit func(story string, s state, depth int)
	visit = func(story string, s state, depth int) {
		walk++
		wrong := func(format string, args ...any) { t.Fatalf("%s: %s", story, fmt.Sprintf(format, args...)) }
		if at := s.wake(); !at.IsZero() && !at.After(s.now) {
			wrong("the next step is due in the past")
		} else if at.IsZero() != (s.over() || s.config.Endless && s.sending > 0) {
			wrong("over %v, but the next step is at %v", s.over(), at)
		}
		expired := !s.config.Endless && !s.now.Before(s.confirmed.Add(8*second))
		if s.loss != nil && s.loss.Cause != Evicted && !expired {
			wrong("lost before its deadline")
		} else if s.loss == nil && !s.stopped && expired {
			wrong("not lost at its deadline")
		}
		if s.wait && !s.over() && s.sending == 0 {
			wrong("Extend waits for nothing")
		}
		if depth == 0 {
			return
		}
		event := func(name string, change func(s *state) todo) {
			n := s
			n.warned = append([]time.Time(nil), s.warned...)
			n.deadlines = map[time.Time]int{}
			for at, times := range s.deadlines {
				n.deadlines[at] = times
			}
			over, before := s.over(), s.machine.deadline
			do := change(&n)
			story, wrong := story+" "+name, func(format string, args ...any) { t.Fatalf("%s %s: %s", story, name, fmt.Sprintf(format, args...)) }
			if do.lost != (n.loss != nil && s.loss == nil) {
				wrong("the loss is reported: %v", do.lost)
			}
			for k := range do.warn {
				at := n.warned[0]
				if k < len(do.warn)-1 {
					at = before // an answer that comes late has changed it
				}
				if n.deadlines[at]++; s.stopped || at.IsZero() || n.deadlines[at] > 1 || n.now.Before(at.Add(-margin)) {
					wrong("%d warnings of the deadline %v", n.deadlines[at], at)
				}
			}
			danger := func(at time.Time) bool { return !at.IsZero() && n.deadlines[at] == 0 && !n.now.Before(at.Add(-margin)) }
			if !n.stopped && (!over && danger(before) || !n.over() && danger(n.machine.deadline)) {
				wrong("not warned of a deadline")
			}
			if do.lost && n.loss.Cause != Evicted && (n.loss.Cause == Unreachable) != (n.failing || n.sending > 0) {
				wrong("lost by %v, of a renewal that fails: %v, %d under way", n.loss, n.failing, n.sending)
			}
			if s.stopped && do.lost && n.loss.Cause == Evicted {
				wrong("an eviction is reported after Stop")
			}
			if do.renew {
				if n.sending++; n.sending > 1 || over || n.loss != nil {
					wrong("sent a renewal: %d are under way, over %v", n.sending, n.over())
				}
				if !n.wait && (n.config.Interval == 0 || n.now.Before(n.due)) {
					wrong("sent a renewal that was neither due nor asked for")
				}
				n.wait = false
			}
			visit(story, n, depth-1)
		}
		for _, d := range []time.Duration{3 * second, 10 * second} {
			event(fmt.Sprint(d), func(s *state) todo { s.now = s.now.Add(d); return s.step(s.now) })
		}
		event("extend", func(s *state) todo { s.wait = true; return s.extend(s.now) })
		event("stop", func(s *state) todo { s.stop(); return todo{} })
		if s.sending > 0 {
			for _, err := range []error{nil, failed, ErrEvicted} {
				for _, pause := range []time.Duration{0, 3 * second} { // of the process
					event(fmt.Sprint("answer ", err, pause), func(s *state) todo {
						s.now = s.now.Add(pause)
						s.sending--
						over := s.over()
						if !over {
							s.failing = err != nil
						}
						if err == nil && !over {
							s.confirmed = s.sent
						}
						do := s.answer(s.now, err, func() float64 { return 0.5 })
						if err == ErrEvicted && !over && s.loss == nil {
							wrong("an eviction is no loss")
						}
						return do
					})
				}
			}
		}
	}
	for depth, c := range map[int]Config{8: {Interval: 4 * second}, 7: {}, 6: {Interval: 4 * second, Endless: true}} {
		c.TTL, c.Margin, c.First, c.Warnings = 10*second, 2*second, c.Interval, []Warning{{Margin: margin}}
		s := state{machine: begin(start, c, func() float64 { return 0 }), now: start, confirmed: start}
		visit("", s, depth)
	}
	t.Logf("%d states", walk)
}
