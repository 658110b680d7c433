package sim

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/wake"
)

// hinted are the hints of a process. One that is dead or paused neither sends nor receives.
type hinted struct {
	node *node
	wake.Hints
}

func (h hinted) Send(d wake.Digest) {
	if h.node.runs() {
		h.Hints.Send(d)
	}
}

func (h hinted) Listen(receive func(wake.Digest)) (stop func(), err error) {
	return h.Hints.Listen(func(d wake.Digest) {
		if h.node.runs() {
			receive(d)
		}
	})
}

// rung are hints with bells of a process.
type rung struct {
	node *node
	wake.Bells
}

func (r rung) Send(d wake.Digest) { hinted{r.node, r.Bells}.Send(d) }

func (r rung) Listen(receive func(wake.Digest)) (stop func(), err error) {
	return hinted{r.node, r.Bells}.Listen(receive)
}

func (r rung) Ring(bell string) {
	if r.node.runs() {
		r.Bells.Ring(bell)
	}
}

func (r rung) Hang(rung func()) (bell string, stop func()) {
	return r.Bells.Hang(func() {
		if r.node.runs() {
			rung()
		}
	})
}

func (n *node) runs() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.dead && !time.Now().Before(n.frozen)
}

// hint decides when the copies of the nth hint from one process arrive at another.
func (w *world) hint(from, to string, n int64) (delays []time.Duration) {
	r := w.chances(from+" hints at "+to, n)
	for delays = append(delays, w.way(r)); !w.clear.Load() && r.IntN(3) == 0; {
		switch {
		case r.IntN(2) == 0:
			w.harm("hint lost")
			return nil
		case r.IntN(2) == 0:
			w.harm("hint delayed")
			delays[0] += exp(r, w.plan.Hold)
		default:
			w.harm("hint repeated")
			delays = append(delays, w.way(r)+exp(r, w.plan.Hold))
		}
	}
	return delays
}

// forge sends false hints.
func (w *world) forge(ctx context.Context) {
	r := w.chances("forger of hints", 0)
	for n := 0; ctx.Err() == nil; n++ {
		pause := exp(r, 5*time.Second) + time.Microsecond
		if n%50 > 40 {
			pause /= 1000 // in bursts
		}
		select {
		case <-time.After(pause):
			w.harm("hint forged")
			w.hub.Forge()
		case <-ctx.Done():
		}
	}
}
