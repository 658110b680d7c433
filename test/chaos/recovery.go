package chaos

import (
	"cmp"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/workload/turns"
)

// recoveries judges how long it takes from the kill of a holder, or from when a
// worker waits for its lock, to the next grant.
func (v *Verdict) recoveries(h *History, all []turns.Recovery) {
	for _, r := range all {
		dead, until := r.Killed, h.Ended
		if r.Took >= 0 {
			until = dead.KilledAt.Add(r.Took)
		}
		from, waited := h.waited(dead, until)
		by := h.disturbed(dead, until)
		if !waited {
			by = "no worker waited"
		}
		took, bound := until.Sub(from), h.TTL+slack
		switch {
		case r.Took < 0 && took <= bound: // the end came first
		case by != "":
			v.Disturbed[by]++
		default:
			v.Recoveries = append(v.Recoveries, took)
			if took > bound {
				v.wrong("slow", "%s: %v from the kill of %s, which held ticket %s, to the next grant: more than %v",
					dead.Entity, took.Round(time.Millisecond), dead.Worker, dead.Ticket, bound)
			}
		}
	}
}

// waited is when the first worker that waits at that instant began to wait for
// the lock of a killed holder, or the kill if that is later.
func (h *History) waited(dead turns.Turn, until Instant) (from Instant, ok bool) {
	for _, t := range h.Turns {
		if over := t.Over(); t.Entity != dead.Entity || t.Worker == dead.Worker || !t.Waits || t.Asked >= until || over != 0 && over < until {
			continue
		}
		if asked := max(t.Asked, dead.KilledAt); !ok || asked < from {
			from, ok = asked, true
		}
	}
	return from, ok
}

// disturbed says what else than the kill can have delayed the next grant: the
// faults were over, the engine was down, a request for that lock met a fault, or
// another waiter was killed or stopped so shortly before that its row may have
// been in the way. Empty: nothing.
func (h *History) disturbed(dead turns.Turn, until Instant) (by string) {
	if until > h.Ended {
		return "the end"
	}
	if h.restarted(dead.KilledAt.Add(-time.Second), until) {
		return "engine down"
	}
	for _, f := range h.Faults {
		if f.Entity == dead.Entity && f.At >= dead.KilledAt && f.At <= until && f.delays() {
			return "a request met " + f.Kind.String()
		}
	}
	rows := dead.KilledAt.Add(-h.WaiterTTL - slack)
	for _, t := range h.Turns {
		if t.Entity == dead.Entity && t.Worker != dead.Worker && h.gapped(t, rows, until) {
			return "another was killed or stopped"
		}
	}
	return ""
}

// gapped reports whether the process was killed, or stopped, in that time while it
// waited.
func (h *History) gapped(t turns.Turn, from, to Instant) bool {
	if killedWaiting(t) && t.KilledAt >= from && t.KilledAt <= to {
		return true
	}
	return slices.ContainsFunc(h.Stops, func(s Span) bool {
		return s.Worker == t.Worker && s.To >= from && s.From <= to && t.Asked <= s.From && (t.Over() == 0 || t.Over() >= s.From)
	})
}

// killedWaiting reports whether the process was killed while it waited.
func killedWaiting(t turns.Turn) bool { return t.KilledAt != 0 && t.Over() >= t.KilledAt }

// delays reports whether a fault may delay a grant. What comes late does when
// it comes, if it writes, and a duplicate only then.
func (f Fault) delays() bool {
	if f.Late {
		return f.Operation != "GetItem" && f.Operation != "Query"
	}
	return f.Kind != fault.Duplicate
}

// droughts judges how long a worker waits while no turn at its lock is granted.
// own are the turns at one lock.
func (v *Verdict) droughts(h *History, own []turns.Turn) {
	var grants []Instant
	for _, t := range own {
		if t.Granted != 0 {
			grants = append(grants, t.Granted)
		}
	}
	slices.Sort(grants)
	for _, t := range own {
		if !t.Waits || h.struck(t) {
			continue
		}
		over := cmp.Or(t.Over(), h.Ended)
		from, longest := t.Asked, time.Duration(0)
		for _, at := range grants {
			if at > from && at < over {
				longest, from = max(longest, at.Sub(from)), at
			}
		}
		longest = max(longest, over.Sub(from))
		v.Drought = max(v.Drought, longest)
		if longest > stuckLimit {
			v.wrong("stuck", "%s: no worker was served for %v while %s waited", t.Entity, longest.Round(time.Millisecond), t.Worker)
		}
	}
}

// struck reports whether the process was killed or stopped while it waited.
func (h *History) struck(t turns.Turn) bool {
	return killedWaiting(t) || slices.ContainsFunc(h.Stops, func(s Span) bool {
		return s.Worker == t.Worker && s.To >= t.Asked && (t.Over() == 0 || s.From <= t.Over())
	})
}
