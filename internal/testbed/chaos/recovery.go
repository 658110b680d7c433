package chaos

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/faultproxy"
)

// recoveries judges how long it takes from the kill of a holder, or from when
// somebody waits for its lock, to the next grant. turns are in order for each entity.
func (v *Verdict) recoveries(h *History, turns map[string][]Turn) {
	for _, k := range h.Kills {
		i := slices.IndexFunc(h.Turns, func(t Turn) bool {
			return t.Worker == k.Worker && t.Ended == 0 && t.From != 0 && t.Doubted == 0
		})
		if i < 0 {
			continue // it held nothing
		}
		dead := h.Turns[i]
		next := slices.IndexFunc(turns[dead.Entity], func(t Turn) bool { return t.Granted > k.At })
		until := h.Ended
		if next >= 0 {
			until = turns[dead.Entity][next].Granted
		}
		from, waited := h.waited(dead.Entity, k, until)
		by := h.disturbed(dead.Entity, k, until)
		if !waited {
			by = "nobody waited"
		}
		took, bound := until.Sub(from), h.TTL+slack
		switch {
		case next < 0 && took <= bound: // the end came first
		case by != "":
			v.Disturbed[by]++
		default:
			v.Recoveries = append(v.Recoveries, took)
			if took > bound {
				v.wrong(&v.Slow, "%s: %v from the kill of %s, which held ticket %d, to the next grant: more than %v",
					dead.Entity, took.Round(time.Millisecond), k.Worker, dead.Ticket, bound)
			}
		}
	}
	slices.Sort(v.Recoveries)
}

// waited is from when on somebody waited for the lock of a killed holder: from
// the kill, or from when the first of those came who wait at that instant.
func (h *History) waited(entity string, k Kill, until Instant) (from Instant, ok bool) {
	for _, a := range h.Attempts {
		if a.Entity != entity || a.Worker == k.Worker || !a.Waits || a.Asked >= until || a.Over != 0 && a.Over < until {
			continue
		}
		if asked := max(a.Asked, k.At); !ok || asked < from {
			from, ok = asked, true
		}
	}
	return from, ok
}

// disturbed says what else than the kill can have delayed the next
// grant, if anything: the faults were over, the engine was down, requests for
// that lock met a fault, or another of those who wait for it was killed or
// stopped so shortly before that its row may have been in the way.
func (h *History) disturbed(entity string, k Kill, until Instant) (by string) {
	if until > h.Ended {
		return "the end"
	}
	if h.restarted(k.At.Add(-time.Second), until) {
		return "engine down"
	}
	for _, f := range h.Faults {
		if f.Entity == entity && f.At >= k.At && f.At <= until && delays(f.Entry) {
			return "a request met " + f.Entry.Fate.String()
		}
	}
	rows := k.At.Add(-h.WaiterTTL - slack)
	there := func(worker string, at Instant) bool {
		return worker != k.Worker && slices.ContainsFunc(h.Attempts, func(a Attempt) bool {
			return a.Worker == worker && a.Entity == entity && a.Asked <= at && (a.Over == 0 || a.Over >= at)
		})
	}
	if slices.ContainsFunc(h.Kills, func(o Kill) bool { return o.At >= rows && o.At <= until && there(o.Worker, o.At) }) ||
		slices.ContainsFunc(h.Stops, func(s Span) bool { return s.To >= rows && s.From <= until && there(s.Worker, s.From) }) {
		return "another was killed or stopped"
	}
	return ""
}

// delays reports whether a fault may delay a grant. What comes late does when
// it comes, if it writes, and a duplicate only then.
func delays(e faultproxy.Entry) bool {
	if e.Late {
		return e.Operation != "GetItem" && e.Operation != "Query"
	}
	return e.Fate != faultproxy.Duplicate
}

// droughts judges for how long somebody may wait while nobody is served.
func (v *Verdict) droughts(h *History, turns map[string][]Turn) {
	for _, a := range h.Attempts {
		if !a.Waits || h.struck(a) {
			continue
		}
		over := a.Over
		if over == 0 {
			over = h.Ended
		}
		from, longest := a.Asked, time.Duration(0)
		for _, t := range turns[a.Entity] {
			if t.Granted > from && t.Granted < over {
				longest, from = max(longest, t.Granted.Sub(from)), t.Granted
			}
		}
		longest = max(longest, over.Sub(from))
		v.Drought = max(v.Drought, longest)
		if longest > stuckLimit {
			v.wrong(&v.Stuck, "%s: nobody was served for %v while %s waited", a.Entity, longest.Round(time.Millisecond), a.Worker)
		}
	}
}

// struck reports whether the process of an attempt was killed or stopped in it.
func (h *History) struck(a Attempt) bool {
	in := func(from, to Instant) bool { return to >= a.Asked && (a.Over == 0 || from <= a.Over) }
	return slices.ContainsFunc(h.Kills, func(k Kill) bool { return k.Worker == a.Worker && in(k.At, k.At) }) ||
		slices.ContainsFunc(h.Stops, func(s Span) bool { return s.Worker == a.Worker && in(s.From, s.To) })
}
