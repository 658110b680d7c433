package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/workload/turns"
	"github.com/queuelock/queuelock/test/chaos/ledger"
)

// Verdict is what a history shows.
type Verdict struct {
	Problems   []string       // describes each violation. Empty: all is well
	Violations map[string]int // counts them, by their names in the package's description

	Stops        int // longer than the lease, of a holder, and judged
	StaleRefused int // writes of a lost lock that the fence refused
	LateRefused  int // writes after a release that the fence refused
	StaleAlone   int // both, that were made: no client had been served since
	Repeated     int // transactions that a restarted engine applied twice
	Recoveries   []time.Duration
	Disturbed    map[string]int // recoveries that something else touched, by what
	Drought      time.Duration  // the longest time in which a client waited and none was served
}

// violations are the names of what must not happen.
var violations = []string{
	"overlap", "lost update", "regression", "inversion", "missing", "phantom", "doubled", "believer", "stale accepted", "slow", "stuck", "orphan", "unexplained",
}

// stuckLimit bounds how long a worker that is neither killed nor stopped waits
// without a grant: several kills of holders and waiters in a row, and an outage of
// the engine.
const stuckLimit = 25 * time.Second

func (v *Verdict) wrong(what, format string, args ...any) {
	v.Violations[what]++
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

// Judge judges a history. It is a pure function.
func Judge(h *History) Verdict {
	v := Verdict{Violations: map[string]int{}, Disturbed: map[string]int{}}
	for _, entity := range h.Entities {
		own := slices.DeleteFunc(slices.Clone(h.Turns), func(t turns.Turn) bool { return t.Entity != entity })
		judged := turns.Judge(own)
		if !h.Restarted {
			judged.Inversions = 0 // a waiter that was stopped, or lost a request, may have lost its place by that
		}
		counts := map[string]int{"overlap": judged.Overlaps, "regression": judged.Regressions, "inversion": judged.Inversions}
		for what, n := range counts {
			if n > 0 {
				v.Violations[what] += n
			}
		}
		v.Problems = append(v.Problems, judged.Problems...)
		if judged.Inversions > 0 {
			v.Problems = append(v.Problems, fmt.Sprintf("%s: %d times a newcomer was served before a waiter", entity, judged.Inversions))
		}
		v.recoveries(h, judged.Recoveries)
		v.droughts(h, own)
		v.ledger(entity, h.Ledgers[entity])
	}
	slices.Sort(v.Recoveries)
	v.writes(h)
	v.stops(h)
	v.stale(h)
	for _, orphan := range h.Orphans {
		v.wrong("orphan", "left behind: %s", orphan)
	}
	for _, e := range h.Errors {
		v.wrong("unexplained", "unexplained: %s: %s", e.Worker, e.What)
	}
	return v
}

// ledger judges the entries of a ledger, by themselves.
func (v *Verdict) ledger(entity string, c ledger.Contents) {
	rows := slices.DeleteFunc(slices.Clone(c.Rows), func(r ledger.Row) bool { return r.Probe })
	slices.SortStableFunc(rows, func(a, b ledger.Row) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Token, b.Token))
	})
	times := 0
	var last ledger.Row
	for _, row := range rows {
		times += row.Times
		switch {
		case row.Seq == last.Seq:
			v.wrong("lost update", "%s: turn %d was written by %s with token %d and by %s with token %d: one of them is lost",
				entity, row.Seq, last.Worker, last.Token, row.Worker, row.Token)
		case row.Seq != last.Seq+1:
			v.wrong("lost update", "%s: turn %d follows turn %d", entity, row.Seq, last.Seq)
		case row.After != last.Token:
			v.wrong("lost update", "%s: turn %d by %s had read token %d, but that before it has %d", entity, row.Seq, row.Worker, row.After, last.Token)
		}
		if row.Token <= last.Token && row.Seq != last.Seq {
			v.wrong("regression", "%s: turn %d by %s has token %d, after turn %d by %s with %d",
				entity, row.Seq, row.Worker, row.Token, last.Seq, last.Worker, last.Token)
		}
		last = row
	}
	if c.Head.Writes != times {
		v.wrong("lost update", "%s: %d transactions were applied to the head, and %d to turns", entity, c.Head.Writes, times)
	}
	if c.Head.N != len(rows) || c.Head.Token != last.Token {
		v.wrong("lost update", "%s: the head is at turn %d with token %d, of %d turns with %d the last token",
			entity, c.Head.N, c.Head.Token, len(rows), last.Token)
	}
}

// writes compares what workers know of their writes with the ledgers.
func (v *Verdict) writes(h *History) {
	type key struct {
		entity, id string
		probe      bool
	}
	rows := map[key]ledger.Row{}
	for entity, c := range h.Ledgers {
		for _, row := range c.Rows {
			rows[key{entity, row.ID, row.Probe}] = row
		}
	}
	for _, w := range h.Writes {
		k := key{w.Entity, w.ID, w.Probe}
		row, there := rows[k]
		delete(rows, k)
		// A restarted dynoxide has forgotten the tokens of transactions: it
		// makes a repetition again, and refuses one by the fence that was made.
		forgot := !h.Restarted && h.restarted(w.Sent, w.Answered.Add(h.Late))
		switch {
		case w.Outcome == turns.Applied && !there:
			v.wrong("missing", "%s: the write of %s with ticket %s was answered, and is not there", w.Entity, w.Worker, w.Ticket)
		case w.Outcome == turns.Refused && there && !forgot:
			v.wrong("phantom", "%s: the write of %s with ticket %s was refused, and is there", w.Entity, w.Worker, w.Ticket)
		case row.Times > 1 && forgot:
			v.Repeated++
		case row.Times > 1:
			v.wrong("doubled", "%s: the write of %s with ticket %s was made %d times", w.Entity, w.Worker, w.Ticket, row.Times)
		}
	}
	for k, row := range rows {
		v.wrong("phantom", "%s: no worker knows of the write of %s with token %d", k.entity, row.Worker, row.Token)
	}
}

// restarted reports whether the engine was restarted in that time. An end of
// zero is none.
func (h *History) restarted(from, to Instant) bool {
	return slices.ContainsFunc(h.Downs, func(d Span) bool {
		return (d.To == 0 || d.To > from) && (to < from || d.From < to)
	})
}

// stops judges each stop of a holder that was longer than the lease: what the
// lock says afterwards must be that it is lost.
func (v *Verdict) stops(h *History) {
	for _, s := range h.Stops {
		if s.To.Sub(s.From) < h.TTL {
			continue
		}
		for _, t := range h.Turns {
			if t.Worker != s.Worker || t.From == 0 || t.Granted >= s.From || (t.Ended != 0 && t.Ended <= s.To) {
				continue
			}
			switch {
			case t.Until > s.To:
				v.wrong("believer", "%s: %s was paused for %v with ticket %s, and its lock said %v afterwards that it is held",
					t.Entity, t.Worker, s.To.Sub(s.From).Round(time.Millisecond), t.Ticket, t.Until.Sub(s.To))
			case t.Doubted > s.From:
				v.Stops++
			}
		}
	}
}

// stale judges writes that were sent with the fence of a lost or released lock. A write without an
// answer was made if it is there.
func (v *Verdict) stale(h *History) {
	there := map[string]bool{}
	for _, c := range h.Ledgers {
		for _, row := range c.Rows {
			there[row.ID] = true
		}
	}
	for _, w := range h.Writes {
		switch {
		case !w.Stale && !w.Late:
		case w.Outcome == turns.Refused && w.Late:
			v.LateRefused++
		case w.Outcome == turns.Refused:
			v.StaleRefused++
		case w.Outcome == turns.Applied, there[w.ID]:
			i := slices.IndexFunc(h.Turns, func(t turns.Turn) bool {
				return t.Entity == w.Entity && w.Ticket.Less(t.Ticket) && t.From != 0 && t.Granted < w.Sent
			})
			if i < 0 {
				v.StaleAlone++
				continue
			}
			v.wrong("stale accepted", "%s: the write of %s with ticket %s was made %v after ticket %s was granted to %s",
				w.Entity, w.Worker, w.Ticket, w.Sent.Sub(h.Turns[i].Granted), h.Turns[i].Ticket, h.Turns[i].Worker)
		}
	}
}
