package properties_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/heartbeat"
)

// server is a clock that differs from the local one by an offset and a drift,
// and shows whole seconds. It stands for the clocks of many hosts, which are
// off by a little each.
type server struct {
	epoch  time.Time // local
	offset time.Duration
	ppm    float64
	off    time.Duration // of the host that answers, from the clock it stands for
}

// now is the true time at the server, at a local instant.
func (s server) now(local time.Time) time.Time {
	elapsed := local.Sub(s.epoch)
	return local.Add(s.offset + time.Duration(math.Round(float64(elapsed)*s.ppm/1e6)))
}

func (s server) date(local time.Time) time.Time {
	return s.now(local).Add(s.off).Truncate(time.Second)
}

// What the package allows for.
const (
	maxPPM = 500
	maxOff = 100 * time.Millisecond
)

func drawServer(t *rapid.T, maxPPM float64) server {
	const year = int64(365 * 24 * time.Hour)
	return server{
		epoch:  epoch,
		offset: time.Duration(rapid.Int64Range(-year, year).Draw(t, "offset")),
		ppm: rapid.OneOf(
			rapid.SampledFrom([]float64{-maxPPM, 0, maxPPM}), rapid.Float64Range(-maxPPM, maxPPM),
		).Draw(t, "ppm"),
	}
}

// exchange is one request and its answer.
type exchange struct{ sent, received, date time.Time }

// drawExchange draws one that is sent at that instant: short or long, with the
// server's clock read early, late or in between.
func drawExchange(t *rapid.T, s server, sent time.Time) exchange {
	s.off = time.Duration(rapid.OneOf(
		rapid.SampledFrom([]int64{int64(-maxOff), 0, int64(maxOff)}), rapid.Int64Range(int64(-maxOff), int64(maxOff)),
	).Draw(t, "host is off by"))
	trip := time.Duration(rapid.OneOf(
		rapid.Int64Range(0, int64(30*time.Millisecond)), rapid.Int64Range(0, int64(10*time.Second)),
	).Draw(t, "round trip"))
	there := rapid.OneOf(rapid.SampledFrom([]float64{0, 1}), rapid.Float64Range(0, 1)).Draw(t, "read after")
	return exchange{sent, sent.Add(trip), s.date(sent.Add(time.Duration(float64(trip) * there)))}
}

// answered is a clock that has seen one answer.
func answered(sent, received, date time.Time) *heartbeat.Clock {
	c := new(heartbeat.Clock)
	c.Observe(sent, received, date)
	return c
}

// tolerance for the rounding of the simulation itself.
const tolerance = time.Microsecond

func requireSound(t *rapid.T, e *heartbeat.Clock, s server, at time.Time) {
	t.Helper()
	earliest, latest, ok := e.At(at)
	if !ok {
		t.Fatalf("no estimate at %v", at.Sub(epoch))
	}
	if truth := s.now(at); truth.Before(earliest.Add(-tolerance)) || truth.After(latest.Add(tolerance)) {
		t.Fatalf("at %v the server's clock shows %v, which is %v after the earliest and %v before the latest",
			at.Sub(epoch), truth, truth.Sub(earliest), latest.Sub(truth))
	}
}

// TestBounds checks that the true time always lies within the bounds, also if answers are reported out of order.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawServer(t, maxPPM)
		var answers []exchange
		now := epoch
		for range rapid.IntRange(1, 40).Draw(t, "answers") {
			now = now.Add(time.Duration(rapid.OneOf(
				rapid.Int64Range(0, int64(time.Second)), rapid.Int64Range(0, int64(time.Hour)),
			).Draw(t, "pause")))
			x := drawExchange(t, s, now)
			if answers = append(answers, x); rapid.Bool().Draw(t, "answered before the next is sent") {
				now = x.received
			}
		}
		if rapid.Bool().Draw(t, "out of order") {
			answers = rapid.Permutation(answers).Draw(t, "order")
		}
		e := new(heartbeat.Clock)
		for _, x := range answers {
			e.Observe(x.sent, x.received, x.date)
			requireSound(t, e, s, x.received)
			requireSound(t, e, s, x.received.Add(time.Duration(rapid.Int64Range(int64(-24*time.Hour), int64(24*time.Hour)).Draw(t, "later"))))
			if _, ok := e.Settled(x.received, lease); !ok {
				t.Fatal("dates that do not contradict each other are not taken for settled")
			}
		}
	})
}

// TestRoundTripDrift checks that the bounds allow for drift: the server reads its clock at the very end of a second and at the
// very start of a long round trip, during which it runs ahead.
func TestRoundTripDrift(t *testing.T) {
	s := server{epoch: epoch, offset: time.Second - time.Nanosecond, ppm: 200}
	received := epoch.Add(20 * time.Minute) // so long that drift exceeds what hosts may differ by
	e := answered(epoch, received, s.date(epoch))
	if _, latest, _ := e.At(received); s.now(received).After(latest) {
		t.Errorf("the server's clock shows %v, %v after the latest", s.now(received), s.now(received).Sub(latest))
	}
}

// TestBoundsBelowASecond checks that answers at many phases narrow the bounds.
func TestBoundsBelowASecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawServer(t, 200)
		e := new(heartbeat.Clock)
		now := epoch
		const answers = 60
		for range answers {
			// A quick answer each two seconds or so, at no particular phase.
			now = now.Add(2*time.Second + time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "phase")))
			trip := time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(20*time.Millisecond)).Draw(t, "round trip"))
			e.Observe(now, now.Add(trip), s.date(now.Add(trip/2)))
			now = now.Add(trip)
			requireSound(t, e, s, now)
		}
		// What decides is how many different phases were drawn: sixteen of a
		// second, evenly spread, follow.
		for i := range 16 {
			now = now.Add(time.Second + time.Second/16)
			e.Observe(now, now.Add(10*time.Millisecond), s.date(now.Add(time.Duration(i)*time.Millisecond/2)))
			requireSound(t, e, s, now.Add(10*time.Millisecond))
		}
		earliest, latest, ok := e.At(now)
		if width := latest.Sub(earliest); !ok || width >= 300*time.Millisecond {
			t.Fatalf("after %d answers the bounds are %v apart", answers+16, width)
		}
	})
}

// bounds are those of an estimate that has any.
func bounds(t *rapid.T, e *heartbeat.Clock, at time.Time) (earliest, latest time.Time) {
	t.Helper()
	earliest, latest, ok := e.At(at)
	if !ok {
		t.Fatal("no estimate")
	}
	return earliest, latest
}

// TestDrift checks that bounds widen by the drift alone: every answer of a clock within what is allowed for leaves the
// intersection of what was known with what the answer says.
func TestDrift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawServer(t, maxPPM)
		e := new(heartbeat.Clock)
		now := epoch
		for range rapid.IntRange(1, 20).Draw(t, "answers") {
			x := drawExchange(t, s, now)
			now = x.received
			alone := answered(x.sent, x.received, x.date)
			low, high := bounds(t, alone, now)
			if oldLow, oldHigh, ok := e.At(now); ok {
				low, high = latest(low, oldLow), earliest(high, oldHigh)
			}
			e.Observe(x.sent, x.received, x.date)
			if gotLow, gotHigh := bounds(t, e, now); !gotLow.Equal(low) || !gotHigh.Equal(high) {
				t.Fatalf("bounds from %v to %v, want the intersection from %v to %v", gotLow, gotHigh, low, high)
			}
			pause := time.Duration(rapid.Int64Range(int64(-time.Hour), int64(time.Hour)).Draw(t, "pause"))
			drifted := time.Duration(float64(pause.Abs()) * maxPPM / 1e6)
			gotLow, gotHigh := bounds(t, e, now.Add(pause))
			if d := gotLow.Sub(low.Add(pause - drifted)).Abs(); d > tolerance {
				t.Fatalf("after %v the earliest is off by %v", pause, d)
			}
			if d := gotHigh.Sub(high.Add(pause + drifted)).Abs(); d > tolerance {
				t.Fatalf("after %v the latest is off by %v", pause, d)
			}
			now = now.Add(pause.Abs())
		}
	})
}

func earliest(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }

func latest(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

// lease is the length of a lease to judge.
const lease = time.Minute

// TestContradiction checks that two answers of which no clock can have given both leave all that either allows, no less and no
// more; and that for the length of a lease, from the answer that decides between them, the earliest cannot end one.
func TestContradiction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawServer(t, maxPPM)
		e := new(heartbeat.Clock)
		now := epoch
		for range rapid.IntRange(1, 10).Draw(t, "before") {
			x := drawExchange(t, s, now)
			e.Observe(x.sent, x.received, x.date)
			now = x.received.Add(time.Second)
		}
		s.offset += time.Duration(rapid.SampledFrom([]int{-1, 1}).Draw(t, "which way")) *
			time.Duration(rapid.Int64Range(int64(30*time.Second), int64(1000*time.Hour)).Draw(t, "jump"))
		x := drawExchange(t, s, now)
		now = x.received
		oldLow, oldHigh := bounds(t, e, now)
		newLow, newHigh := bounds(t, answered(x.sent, x.received, x.date), now)
		e.Observe(x.sent, x.received, x.date)
		low, high := bounds(t, e, now)
		if !low.Equal(earliest(oldLow, newLow)) || !high.Equal(latest(oldHigh, newHigh)) {
			t.Fatalf("bounds from %v to %v after one of %v to %v and one of %v to %v", low, high, oldLow, oldHigh, newLow, newHigh)
		}
		disputed := now
		for i := range rapid.IntRange(0, 10).Draw(t, "after") {
			x := drawExchange(t, s, now)
			e.Observe(x.sent, x.received, x.date)
			now = x.received
			requireSound(t, e, s, now)
			if i == 0 {
				disputed = now // it decides between the two, against one of them
			}
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(lease)/4).Draw(t, "pause")))
			got, ok := e.Settled(now, lease)
			if ok != (now.Sub(disputed) >= lease) {
				t.Fatalf("%v after the dispute a lease of %v may be judged: %v", now.Sub(disputed), lease, ok)
			}
			if want, _ := bounds(t, e, now); !got.Equal(want) {
				t.Fatalf("the earliest is %v, by another way %v", got, want)
			}
		}
		if _, ok := e.Settled(disputed.Add(lease-1), lease); ok {
			t.Fatal("settled too early")
		}
		if _, ok := e.Settled(disputed.Add(lease), lease); !ok {
			t.Fatal("never settled")
		}
		if _, ok := e.Settled(disputed.Add(-time.Second), lease); ok {
			t.Fatal("settled for a read that came before the dispute, and is judged after it")
		}
	})
}

// TestLatestContradiction checks that a contradiction that is reported late counts from when it came, and that one that is
// reported out of order does not make a later one forgotten.
func TestLatestContradiction(t *testing.T) {
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	e := new(heartbeat.Clock)
	if _, ok := e.Settled(at(0), lease); ok {
		t.Error("nothing is known, and settled")
	}
	e.Observe(at(0), at(0), at(0))
	e.Observe(at(100), at(100), at(1000)) // disputed
	e.Observe(at(100), at(100), at(1000))
	e.Observe(at(20), at(20), at(20)) // disputed, and reported out of order
	if _, ok := e.Settled(at(159), lease); ok {
		t.Error("settled within the lease of the later contradiction")
	}
	if _, ok := e.Settled(at(160), lease); !ok {
		t.Error("not settled a lease after the later contradiction")
	}
}

// TestWrongDate checks that a single wrong date is forgotten, after the next answer, whose bounds are as narrow as before.
func TestWrongDate(t *testing.T) {
	s := server{epoch: epoch, offset: time.Hour}
	e := new(heartbeat.Clock)
	now := epoch
	for i := range 100 {
		date := s.date(now)
		if i == 50 {
			date = date.Add(5 * time.Minute)
		}
		e.Observe(now, now.Add(time.Millisecond), date)
		now = now.Add(time.Second + 130*time.Millisecond)
		earliest, latest, ok := e.At(now)
		if !ok || s.now(now).Before(earliest) || s.now(now).After(latest) || i != 50 && latest.Sub(earliest) > 1300*time.Millisecond {
			t.Errorf("after answer %d the bounds are %v and %v, %v", i, earliest, latest, ok)
		}
	}
}

// TestSince checks that the time since an instant is the longest that can have passed: by the local clock, or by
// DynamoDB's, which goes on while the host is suspended.
func TestSince(t *testing.T) {
	for name, test := range map[string]struct {
		asleep      time.Duration // while the local clock stops
		least, most time.Duration
	}{
		"Awake":     {least: time.Minute, most: time.Minute + 3*time.Second},
		"Suspended": {asleep: time.Hour, least: time.Hour + time.Minute, most: time.Hour + time.Minute + 3*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := server{epoch: epoch, offset: 5 * time.Hour}
			c := answered(epoch, epoch.Add(10*time.Millisecond), s.date(epoch))
			begun := c.Mark(epoch.Add(10 * time.Millisecond))
			s.offset += test.asleep
			now := epoch.Add(time.Minute)
			for range 2 { // the second decides which date is right
				now = now.Add(10 * time.Millisecond)
				c.Observe(now.Add(-10*time.Millisecond), now, s.date(now))
			}
			if got := c.Since(begun, now); got < test.least || got > test.most {
				t.Errorf("%v since then, want %v to %v", got, test.least, test.most)
			}
		})
	}
	unknown := new(heartbeat.Clock)
	if got := unknown.Since(unknown.Mark(epoch), epoch.Add(time.Minute)); got != time.Minute {
		t.Errorf("%v without dates, want a minute", got)
	}
}
