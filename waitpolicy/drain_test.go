package waitpolicy_test

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

// drain simulates waiters of as many processes that all come at once and are
// served one after the other. A waiter knows what its looks show it, and
// nothing else: no turn wakes it.
type drain struct {
	schedule waitpolicy.Schedule
	rng      *rand.Rand
	now      time.Duration
	waiters  looks // by the time of their next look

	served  int            // how many have been granted
	busy    bool           // there is a holder
	since   time.Duration  // the present turn's begin
	ends    time.Duration  // and end
	turn    queue.HoldTime // as the last holder left it
	freed   time.Duration
	idle    time.Duration // in which the lock was free, in all
	looks   int
	mostNow int           // looks in one second, at the most
	second  time.Duration // the one being counted
	inIt    int
}

type waiterSim struct {
	place   int // 0 is served first
	at      time.Duration
	begun   bool
	first   time.Duration // first look, or that which showed the first grant
	granted bool
	from    int // served then
	seen    int // served when it looked last
	wasBusy bool
	moved   time.Duration
	still   time.Duration // last look before moved, or 0
	last    time.Duration // last look
	pace    time.Duration
	ahead   time.Duration // of its estimate of DynamoDB's clock
}

type looks []*waiterSim

func (l looks) Len() int           { return len(l) }
func (l looks) Less(i, j int) bool { return l[i].at < l[j].at }
func (l looks) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *looks) Push(x any)        { *l = append(*l, x.(*waiterSim)) }
func (l *looks) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

// clockBounds is how far DynamoDB's clock may be misjudged by a waiter.
const clockBounds = 100 * time.Millisecond

func (d *drain) run(n int, turn func(*rand.Rand) time.Duration) {
	d.busy, d.ends = true, turn(d.rng)
	for place := range n {
		ahead := time.Duration((2*d.rng.Float64() - 1) * float64(clockBounds))
		heap.Push(&d.waiters, &waiterSim{place: place, ahead: ahead})
	}
	for d.waiters.Len() > 0 {
		w := d.waiters[0]
		d.now = w.at
		if d.busy && d.ends <= d.now {
			d.busy, d.freed = false, d.ends
			d.turn = d.turn.Add(d.ends - d.since)
		}
		d.count()
		if !d.busy && w.place == d.served {
			d.idle += d.now - d.freed
			d.served++
			d.busy, d.since, d.ends = true, d.now, d.now+turn(d.rng)
			heap.Pop(&d.waiters)
			continue
		}
		w.at += d.schedule.Delay(w.observe(d), d.rng.Float64())
		heap.Fix(&d.waiters, 0)
	}
}

func (d *drain) count() {
	d.looks++
	if s := d.now.Truncate(time.Second); s != d.second {
		d.second, d.inIt = s, 0
	}
	d.inIt++
	d.mostNow = max(d.mostNow, d.inIt)
}

// observe is what package waiter makes of a look.
func (w *waiterSim) observe(d *drain) waitpolicy.Observation {
	if !w.begun {
		w.begun, w.first, w.from, w.seen, w.moved, w.wasBusy = true, d.now, d.served, d.served, d.now, d.busy
	}
	if w.seen != d.served || w.wasBusy != d.busy {
		w.moved, w.still = d.now, w.last
	}
	w.last = d.now
	switch grants := d.served - w.from; {
	case w.seen == d.served || grants == 0:
	case grants == 1 && !w.granted:
		w.first, w.from, w.granted = d.now, d.served, true
	default:
		w.pace = (d.now - w.first) / time.Duration(grants)
	}
	w.seen, w.wasBusy = d.served, d.busy
	o := waitpolicy.Observation{
		Ahead: w.place - d.served, Serving: d.busy,
		Mean: d.turn.Mean, Deviation: d.turn.Deviation,
		Pace: w.pace, Still: d.now - w.moved,
		ClearIn: 8*time.Second + time.Duration(d.rng.Int64N(int64(7*time.Second))), // waiters' leases of 15 s, renewed at half
	}
	if d.busy {
		o.Elapsed = max(d.now-w.moved, d.now-d.since-clockBounds)
		o.Likely = max(d.now-w.moved, d.now-d.since+w.ahead)
		if w.still > 0 {
			o.AtMost = d.now - w.still
			o.Likely = min(o.Likely, o.AtMost)
		}
	}
	return o
}

// TestDrain checks that draining a queue costs few looks and little idle time. Draining
// N waiters costs a number of looks of the order of N log N, and as many as the waiters'
// leases ask for in the time it takes: no waiter may sleep past the end of all leases
// ahead. And the lock idles little between turns.
func TestDrain(t *testing.T) {
	steady := func(length time.Duration) func(*rand.Rand) time.Duration {
		return func(r *rand.Rand) time.Duration { return time.Duration(float64(length) * (0.8 + 0.4*r.Float64())) }
	}
	mixed := func(length time.Duration) func(*rand.Rand) time.Duration {
		return func(r *rand.Rand) time.Duration {
			if r.IntN(4) == 0 {
				return 3 * length
			}
			return length / 3
		}
	}
	for _, kind := range []struct {
		name string
		turn func(time.Duration) func(*rand.Rand) time.Duration
	}{{"steady", steady}, {"mixed", mixed}} {
		for _, length := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, time.Second, 10 * time.Second} {
			for _, n := range []int{10, 100, 1000} {
				t.Run(fmt.Sprintf("%s turns of %v, %d waiters", kind.name, length, n), func(t *testing.T) {
					d := &drain{schedule: waitpolicy.Default, rng: rand.New(rand.NewPCG(uint64(n), uint64(length)))}
					d.run(n, kind.turn(length))
					logN := math.Log2(float64(n))
					idle := float64(d.idle) / float64(n)
					t.Logf("%d looks: %.1f for each waiter, %.2f N log N, at most %d in a second; drained in %v; the lock idles for %.0f ms after a turn, %.1f%% of it",
						d.looks, float64(d.looks)/float64(n), float64(d.looks)/float64(n)/logN, d.mostNow, d.now.Round(time.Second),
						idle/1e6, 100*idle/float64(length))
					// The next in line looks at least once a second, in long
					// turns of any length, and jitter shortens that by a fifth.
					if most := float64(n)*(12*logN+40) + (float64(n)/10+1.25)*d.now.Seconds(); float64(d.looks) > most {
						t.Errorf("%d looks, want at most %.0f", d.looks, most)
					}
					if most := 6*n + 1000; d.mostNow > most { // the next in line alone may look once in each Fastest
						t.Errorf("%d looks in one second, want at most %d", d.mostNow, most)
					}
					share := 0.15
					if n == 10 {
						share = 0.25 // the first turns teach how long turns are
					}
					if length >= 200*time.Millisecond && idle > share*float64(length) {
						t.Errorf("the lock idles for %.0f ms after each turn of %v", idle/1e6, length)
					}
				})
			}
		}
	}
}
