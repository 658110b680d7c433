package properties_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/queue"
)

// world is one true time in which an owner, an observer and DynamoDB have
// clocks of their own: now is the true time, and the owner's clock as well.
type world struct {
	now, start time.Time
	offset     time.Duration // of DynamoDB's clock
	ppm        float64       // by which it runs faster than the owner's
	owner      *heartbeat.Clock
}

var epoch = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

func newWorld(offset time.Duration, ppm float64) *world {
	return &world{now: epoch, start: epoch, offset: offset, ppm: ppm, owner: new(heartbeat.Clock)}
}

func apart(d time.Duration, ppm float64) time.Duration {
	return time.Duration(math.Round(float64(d) * ppm / 1e6))
}

// database is what DynamoDB's clock shows.
func (w *world) database() time.Time {
	return w.now.Add(w.offset + apart(w.now.Sub(w.start), w.ppm))
}

// answer lets a clock see an answer, dated in whole seconds.
func (w *world) answer(c *heartbeat.Clock) {
	c.Observe(w.now, w.now, w.database().Truncate(time.Second))
}

const minute = time.Minute

func TestEndByObservation(t *testing.T) {
	for name, test := range map[string]struct {
		only, dated, timed bool
	}{
		"no date":              {timed: true},
		"no until":             {dated: true},
		"observation only":     {only: true, dated: true, timed: true},
		"neither nor, no date": {},
		"until far away":       {dated: true, timed: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(5*time.Hour, 0)
			observer := heartbeat.NewObserver(w.owner, test.only)
			if test.dated {
				w.answer(w.owner)
			}
			l := queue.Lease{TTL: minute}
			if test.timed {
				l.Until = w.database().Add(24 * time.Hour)
				if test.only {
					l.Until = w.database().Add(-time.Hour) // ended, by a clock that is not asked
				}
			}
			see := func(want time.Duration) {
				t.Helper()
				if left := observer.See("h", l, w.now); left != want {
					t.Errorf("%v after the first sight %v is left, want %v", w.now.Sub(epoch), left, want)
				}
			}
			see(minute)
			w.now = w.now.Add(59 * time.Second)
			see(time.Second)
			w.now = w.now.Add(time.Second)
			see(0)
			l.Beat++ // renewed after all
			see(minute)
			w.now = w.now.Add(30 * time.Second)
			see(30 * time.Second)
			l.Beat--
			see(minute) // a read that came late resets as well
		})
	}
}

// TestDelayAfterClockChange checks that no delay ends early because DynamoDB's clock is set ahead after the owner computed its
// end. What it then shows proves nothing about the delay, which may have just begun.
func TestDelayAfterClockChange(t *testing.T) {
	w := newWorld(0, 0)
	observer := heartbeat.NewObserver(w.owner, false)
	w.answer(w.owner)
	l := queue.Lease{TTL: minute, Until: w.database().Add(minute), Delay: minute}
	observer.See("h", l, w.now)
	w.now = w.now.Add(time.Second)
	w.offset += time.Hour
	w.answer(w.owner)
	w.answer(w.owner) // the second says that it was no single wrong date
	w.now = w.now.Add(minute + time.Second)
	if left := observer.See("h", l, w.now); left != 58*time.Second {
		t.Errorf("%v is left, 2 s after the end of the lease, want 58 s of the delay", left)
	}
	w.now = w.now.Add(minute)
	if left := observer.See("h", l, w.now); left > 0 {
		t.Errorf("%v is left after the delay", left)
	}
}

// TestNoEarlyEnd checks that no observer ends a lease before the deadline of the renewal that set its beat. An owner renews as
// it likes, or dies; an observer looks as it likes. Clocks drift, DynamoDB's is off by anything and shows whole seconds, either
// may or may not know it.
func TestNoEarlyEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const year = int64(365 * 24 * time.Hour)
		ppm := rapid.Float64Range(-500, 500)
		w := newWorld(time.Duration(rapid.Int64Range(-year, year).Draw(t, "offset")), ppm.Draw(t, "ppm"))
		// The observer's own clock, which shows something else altogether, and
		// drifts within the same bound from DynamoDB's.
		const observerOffset = 77 * time.Hour
		observerPPM := w.ppm + rapid.Float64Range(-499, 499).Draw(t, "observer's ppm")
		mine := func() time.Time {
			return w.now.Add(observerOffset + apart(w.now.Sub(w.start), observerPPM))
		}
		judge := new(heartbeat.Clock)
		observer := heartbeat.NewObserver(judge, rapid.Bool().Draw(t, "observation only"))

		ttl := time.Duration(rapid.OneOf(
			rapid.Int64Range(int64(time.Second), int64(2*time.Minute)),
			rapid.Int64Range(int64(time.Second), int64(queue.MaxLease)),
		).Draw(t, "ttl")).Truncate(time.Millisecond)
		terms := heartbeat.Terms{TTL: ttl, Interval: ttl / 2, Margin: heartbeat.Margin(ttl)}
		terms.Delay = time.Duration(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, int64(queue.MaxDelay))).Draw(t, "delay")).Truncate(time.Millisecond)
		// The delay is counted by clocks that drift as well.
		delay := terms.Delay - terms.Delay/500

		l, _ := terms.Begin(w.owner, w.now)
		deadline := terms.Deadline(w.now)
		renewals := heartbeat.NewRenewals(terms, w.owner, l)
		ended := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"see", "see", "renew", "owner hears", "observer hears", "owner is confused"}).Draw(t, "step") {
			case "owner hears":
				w.answer(w.owner)
			case "owner is confused": // by one wrong date: it allows for more for a while
				w.owner.Observe(w.now, w.now, w.database().Add(-time.Hour))
				w.answer(w.owner)
			case "observer hears":
				at := mine()
				judge.Observe(at, at, w.database().Truncate(time.Second))
			case "renew":
				if !w.now.Before(deadline) {
					break // the owner knows that it has lost
				}
				sent := w.now
				until := renewals.Next(sent)
				w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(terms.TTL/4)).Draw(t, "applied after")))
				l.Beat++
				if !until.IsZero() {
					l.Until = until // otherwise it is left as it was
				}
				deadline = terms.Deadline(sent)
			case "see":
				asRead := l
				asRead.Until = time.Time{}
				if !l.Until.IsZero() {
					asRead.Until = time.UnixMilli(l.Until.UnixMilli())
				}
				answered := time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "answered after"))
				w.now = w.now.Add(answered)
				if left := observer.See("h", asRead, mine()); left <= 0 {
					ended++
					if w.now.Before(deadline.Add(delay)) {
						t.Fatalf("judged ended %v before the owner's deadline; lease of %v, delay of %v", deadline.Add(delay).Sub(w.now), ttl, terms.Delay)
					}
				}
			}
			w.now = w.now.Add(time.Duration(rapid.OneOf(
				rapid.Int64Range(0, int64(ttl)/4), rapid.Int64Range(int64(ttl)*9/10, int64(ttl)*11/10),
			).Draw(t, "pause")))
		}
		// And it does end: a dead owner is not waited for longer than a lease
		// after the first sight.
		for range 2 {
			observer.See("h", l, mine())
			w.now = w.now.Add(l.Length()/2 + apart(l.Length()/2, 2000) + time.Second)
		}
		if left := observer.See("h", l, mine()); left > 0 {
			t.Fatalf("%v is left of a lease that was not renewed for longer than it is", left)
		}
	})
}

// TestLeaseAfterClockChange sets DynamoDB's clock ahead or back again and again, by more than any uncertainty. Each read and
// each renewal is answered with its date. An observer that knew the clock before ends no lease before its owner's deadline,
// also if its end was computed by the old clock, or if its owner does not know the new one.
func TestLeaseAfterClockChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(t, "offset")), rapid.Float64Range(-400, 400).Draw(t, "ppm"))
		judge := new(heartbeat.Clock)
		observer := heartbeat.NewObserver(judge, false)
		w.answer(judge)
		ttl := time.Duration(rapid.Int64Range(int64(time.Second), int64(10*time.Minute)).Draw(t, "ttl")).Truncate(time.Millisecond)
		terms := heartbeat.Terms{TTL: ttl, Interval: ttl / 2, Margin: heartbeat.Margin(ttl)}
		terms.Delay = time.Duration(rapid.Int64Range(0, int64(ttl)).Draw(t, "delay")).Truncate(time.Millisecond)
		if rapid.Bool().Draw(t, "the owner knows the clock from the start") {
			w.answer(w.owner)
		}
		l, _ := terms.Begin(w.owner, w.now)
		deadline := terms.Deadline(w.now)
		renewals := heartbeat.NewRenewals(terms, w.owner, l)
		renew := func() (stands bool) {
			sent := w.now
			until := renewals.Next(sent)
			l.Beat, l.Until = l.Beat+1, until
			w.now = w.now.Add(time.Millisecond)
			w.answer(w.owner)
			if stands = terms.OwnerEndsFirst(w.owner, until, sent, w.now); stands {
				deadline = terms.Deadline(sent)
			}
			return stands
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"see", "see", "see", "renew", "set"}).Draw(t, "step") {
			case "set":
				by := time.Duration(rapid.Int64Range(int64(time.Minute), int64(1000*time.Hour)).Draw(t, "by"))
				if rapid.Bool().Draw(t, "back") {
					by = -by
				}
				w.offset += by
				w.answer(judge) // it would miss a clock that is set there and back between two looks
			case "renew":
				for range 3 {
					if w.now.Before(deadline) && renew() {
						break
					}
				}
			case "see":
				w.answer(judge)
				if left := observer.See("h", l, w.now); left <= 0 && w.now.Before(deadline.Add(terms.Delay-terms.Delay/500)) {
					t.Fatalf("judged ended %v before the owner's deadline and its delay of %v; lease of %v", deadline.Add(terms.Delay).Sub(w.now), terms.Delay, ttl)
				}
			}
			w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(ttl)/3).Draw(t, "pause")))
		}
	})
}

func TestEndsNeverFall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(time.Hour, rapid.Float64Range(-200, 200).Draw(t, "ppm"))
		if rapid.Bool().Draw(t, "known from the start") {
			w.answer(w.owner)
		}
		terms := heartbeat.Terms{TTL: minute, Interval: minute / 2, Margin: heartbeat.Margin(minute)}
		begun, _ := terms.Begin(w.owner, w.now)
		last := begun.Until
		renewals := heartbeat.NewRenewals(terms, w.owner, begun)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(minute)).Draw(t, "pause")))
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				w.answer(w.owner)
			case 2: // one wrong date: both are possible for a while
				w.owner.Observe(w.now, w.now, w.database().Add(time.Hour))
				w.answer(w.owner)
			case 1: // DynamoDB's date is set back
				w.offset -= 10 * minute
				w.answer(w.owner)
			}
			next := renewals.Next(w.now)
			if next.Before(last) {
				t.Fatalf("an end at %v follows one at %v", next, last)
			}
			if !last.IsZero() && next.IsZero() {
				t.Fatal("an end that was known is not known any more")
			}
			if !next.IsZero() && next.Before(w.database().Add(minute)) {
				t.Fatalf("the lease ends %v too early", w.database().Add(minute).Sub(next))
			}
			last = next
		}
	})
}

// TestForgottenSightings checks that an observer forgets no observation but the oldest of a crowd, once their leases have ended.
func TestForgottenSightings(t *testing.T) {
	w := newWorld(0, 0)
	observer := heartbeat.NewObserver(w.owner, false)
	l := queue.Lease{TTL: minute}
	see := func(id string) time.Duration { return observer.See(id, l, w.now) }
	see("seldom")
	for range 20 { // a caller that tries a busy lock each hour
		see("other")
		w.now = w.now.Add(time.Hour)
		if see("seldom") > 0 {
			t.Fatal("a sighting was forgotten within an hour")
		}
	}
	crowd := func(name string) {
		for i := range 10_001 {
			see(fmt.Sprint(name, i))
		}
	}
	crowd("a")
	w.now = w.now.Add(30 * time.Second)
	crowd("b") // those of a are seen no more, but their leases have not ended
	w.now = w.now.Add(31 * time.Second)
	crowd("b")
	for id, left := range map[string]time.Duration{"seldom": minute, "a0": minute, "b0": 29 * time.Second} {
		if got := see(id); got != left {
			t.Errorf("%v is left of %q beside a crowd, want %v", got, id, left)
		}
	}
}

// TestLongLeaseForgotten checks that sightings of long leases do not add up: DynamoDB's clock judges a lease with an end.
func TestLongLeaseForgotten(t *testing.T) {
	for name, test := range map[string]struct {
		end, observationOnly, unknown, forgotten bool
	}{
		"WithEnd": {end: true, forgotten: true}, "NotWithoutEnd": {}, "NotIfOnlyObserved": {end: true, observationOnly: true},
		"NotWithoutTime": {end: true, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(0, 0)
			observer, l := heartbeat.NewObserver(w.owner, test.observationOnly), queue.Lease{TTL: 24 * time.Hour}
			if test.end {
				l.Until = w.now.Add(48 * time.Hour) // more than is observed
			}
			answer := func() {
				if !test.unknown {
					w.answer(w.owner)
				}
			}
			answer()
			observer.See("holder", l, w.now)
			for range 3 {
				w.now = w.now.Add(11 * minute)
				answer()
				observer.See("other", l, w.now)
			}
			if left := observer.See("holder", l, w.now); (left == 24*time.Hour) != test.forgotten {
				t.Errorf("%v is left after %v", left, w.now.Sub(w.start))
			}
		})
	}
}

// TestReturningBeat removes a row before its time, and puts it there again by a late request. It beats from zero: one that
// watched it before must not take the beat it saw then for one that has not moved since.
func TestReturningBeat(t *testing.T) {
	o := heartbeat.NewObserver(new(heartbeat.Clock), false)
	at := func(s int) time.Time { return time.Unix(1_700_000_000, 0).Add(time.Duration(s) * time.Second) }
	row := func(beat int64, until int) queue.Lease {
		return queue.Lease{TTL: 15 * time.Second, Beat: beat, Until: at(until)}
	}
	o.See("row", row(1, 15), at(0))
	if left := o.See("row", row(1, 30), at(16)); left <= 0 {
		t.Errorf("a row with another end has ended, %v ago", -left)
	}
	if left := o.See("row", row(1, 30), at(31)); left > 0 {
		t.Errorf("a row that was watched for its full length lives for %v", left)
	}
}
