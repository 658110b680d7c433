package sim

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/wake"
)

// rung are the bells of a process. One that is dead or paused neither rings nor is rung.
type rung struct {
	node *node
	wake.Bells
}

func (r rung) Ring(bell string) {
	if r.node.runs() {
		r.Bells.Ring(bell)
	}
}

func (r rung) Hang(rung func()) (bell string, stop func(), err error) {
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

// ring decides when the copies of the nth bell that one process rings arrive at another.
func (w *world) ring(from, to string, n int64) (delays []time.Duration) {
	r := w.chances(from+" rings "+to, n)
	for delays = append(delays, w.way(r)); !w.clear.Load() && r.IntN(3) == 0; {
		switch {
		case r.IntN(2) == 0:
			w.harm("bell lost")
			return nil
		case r.IntN(2) == 0:
			w.harm("bell delayed")
			delays[0] += exp(r, w.plan.Hold)
		default:
			w.harm("bell repeated")
			delays = append(delays, w.way(r)+exp(r, w.plan.Hold))
		}
	}
	return delays
}

// forge rings false bells.
func (w *world) forge(ctx context.Context) {
	r := w.chances("forger of bells", 0)
	for n := 0; ctx.Err() == nil; n++ {
		pause := exp(r, 5*time.Second) + time.Microsecond
		if n%50 > 40 {
			pause /= 1000 // in bursts
		}
		select {
		case <-time.After(pause):
			w.harm("bell forged")
			w.hub.Forge()
		case <-ctx.Done():
		}
	}
}
