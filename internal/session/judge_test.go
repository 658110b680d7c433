package session

import (
	"fmt"
	"testing"

	"github.com/queuelock/queuelock/queue"
)

var verdictNames = map[verdict]string{
	released: "released", earlier: "earlier", evicted: "evicted", orphaned: "orphaned", declined: "declined",
	doubtful: "doubtful", unknown: "unknown", handOff: "handOff", resend: "resend",
}

func (v verdict) String() string { return verdictNames[v] }

// anyOf are the answers to one line of the table of judge: of Release, of the Release
// of a lost lock, and of UpdateAndRelease.
type anyOf [3]verdict

func TestJudge(t *testing.T) {
	fast := func(r refusal) refusal { r.form = queue.FormFast; return r }
	for _, line := range []struct {
		name    string
		refusal refusal
		want    anyOf
	}{
		{"LateCopy", refusal{copied: true, entry: true, outcome: queue.OutcomeHeld}, anyOf{resend, resend, resend}},
		{"LateCopyRefusedFastForm", fast(refusal{copied: true, entry: true}), anyOf{resend, resend, resend}},
		{"LateCopyOfEvictedHolder", refusal{copied: true, outcome: queue.OutcomeEvicted}, anyOf{resend, resend, resend}},
		{"Held", refusal{outcome: queue.OutcomeHeld, entry: true}, anyOf{orphaned, orphaned, declined}},
		{"HeldAndPassRefused", refusal{form: queue.FormPass, outcome: queue.OutcomeHeld, entry: true}, anyOf{handOff, handOff, handOff}},
		{"HeldAfterLostAnswer", refusal{outcome: queue.OutcomeHeld, entry: true, open: true}, anyOf{orphaned, orphaned, doubtful}},
		{"ReleasedByThisCall", refusal{outcome: queue.OutcomeReleased}, anyOf{released, evicted, released}},
		{"ReleasedEarlier", refusal{outcome: queue.OutcomeReleasedEarlier}, anyOf{released, evicted, earlier}},
		{"ReleasedEarlierAfterLostAnswer", refusal{outcome: queue.OutcomeReleasedEarlier, open: true}, anyOf{released, evicted, earlier}},
		{"ReleasedBySomeCall", refusal{outcome: queue.OutcomeReleasedSome}, anyOf{released, evicted, unknown}},
		{"ReleasedBySomeCallAndOnlyOneWasSent", refusal{outcome: queue.OutcomeReleasedSome, first: true}, anyOf{released, evicted, released}},
		{"ReleasedAndOrphaned", refusal{outcome: queue.OutcomeReleased, entry: true}, anyOf{released, orphaned, released}},
		{"Evicted", refusal{outcome: queue.OutcomeEvicted}, anyOf{evicted, evicted, evicted}},
		{"EvictedAndOrphaned", refusal{outcome: queue.OutcomeEvicted, entry: true}, anyOf{orphaned, orphaned, evicted}},
		// The loss fell between the two forms: the fast one was refused by a record that
		// held the lock, and the hand-off by one that did not.
		{"EvictedBetweenTheForms", refusal{form: queue.FormHandOff, outcome: queue.OutcomeEvicted, open: true}, anyOf{evicted, evicted, evicted}},
		{"EvictedBeforeTheFastForm", fast(refusal{outcome: queue.OutcomeEvicted}), anyOf{evicted, evicted, evicted}},
		{"ReleasedBeforeTheFastForm", fast(refusal{outcome: queue.OutcomeReleased, open: true}), anyOf{released, evicted, released}},
		{"NoRecord", refusal{outcome: queue.OutcomeGone}, anyOf{unknown, evicted, unknown}},
		{"ItemDeleted", refusal{outcome: queue.OutcomeGone, itemGone: true}, anyOf{released, evicted, unknown}},
		{"MarksReplaced", refusal{outcome: queue.OutcomeUnknown}, anyOf{unknown, evicted, unknown}},
	} {
		t.Run(line.name, func(t *testing.T) {
			for k, want := range line.want {
				r := line.refusal
				r.kind = kind(k)
				if got := judge(r); got != want {
					t.Errorf("kind %d: judged %v, want %v", k, got, want)
				}
			}
		})
	}
}

// The fast form is refused although the lock is held: others have queued, or a
// condition of the caller's was false.
func TestJudgeFastForm(t *testing.T) {
	for _, c := range []struct {
		kind             kind
		fast, asks, open bool
		want             verdict
	}{
		{releases, false, false, false, handOff},
		{releases, true, false, false, handOff},
		{updates, false, false, false, handOff},
		{updates, true, false, false, handOff},
		{updates, false, true, false, handOff},
		{updates, false, true, true, handOff},
		{updates, true, true, false, declined},
		{updates, true, true, true, doubtful},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			r := refusal{kind: c.kind, form: queue.FormFast, entry: true, fast: c.fast, asks: c.asks, open: c.open}
			if got := judge(r); got != c.want {
				t.Errorf("judged %v, want %v", got, c.want)
			}
		})
	}
}

// Whatever is known, a Release and an UpdateAndRelease never disagree about whether
// the lock was released, and none takes a lock for released whose record says that it
// was evicted.
func TestJudgeNeverReleasesEvicted(t *testing.T) {
	outcomes := []queue.Outcome{
		queue.OutcomeHeld, queue.OutcomeReleased, queue.OutcomeReleasedEarlier, queue.OutcomeReleasedSome,
		queue.OutcomeEvicted, queue.OutcomeGone, queue.OutcomeUnknown,
	}
	for _, outcome := range outcomes {
		for bits := range 1 << 7 {
			is := func(bit int) bool { return bits>>bit&1 == 1 }
			r := refusal{
				outcome: outcome, form: queue.FormHandOff, copied: is(0), entry: is(1), fast: is(2), asks: is(3), open: is(4), first: is(5), itemGone: is(6),
			}
			for k := range updates + 1 {
				r.kind = k
				switch got := judge(r); {
				case got == handOff:
					t.Errorf("%+v: a refused hand-off is repeated", r)
				case got == released && (outcome == queue.OutcomeEvicted || outcome == queue.OutcomeHeld):
					t.Errorf("%+v: judged released", r)
				case (got == evicted || got == orphaned) && k != clears && outcome.Released():
					t.Errorf("%+v: judged %v", r, got)
				case (got == declined || got == doubtful) && (k != updates || outcome != queue.OutcomeHeld):
					t.Errorf("%+v: judged %v", r, got)
				}
			}
		}
	}
}
