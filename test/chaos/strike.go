package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/queuelock/queuelock/internal/workload/crew"
	"github.com/queuelock/queuelock/internal/workload/turns"
)

// strike does what the plan says, or has it done to the next holder.
func (r *run) strike(s Strike) {
	if r.ending {
		return
	}
	switch s.Kind {
	case KillWorker, StopWorker:
		if s.Holder {
			r.armed[s.Entity] = append(r.armed[s.Entity], s)
			return
		}
		for i, all := 0, r.crew.Processes; i < len(all); i++ {
			p := all[(len(all)+s.Worker-i)%len(all)]
			if p.Free() && !r.spared(p) {
				r.hit(p, s)
				return
			}
		}
	case KillEngine:
		r.strikeEngine(s.Length)
	default:
		r.strikeRequests(s)
	}
}

// served hits the process that was just served in that turn, if a strike waits for one.
func (r *run) served(p *crew.Process, turn *turns.Turn) {
	r.spare(turn.Entity, false)
	for i, entity := range r.History.Entities {
		waiting := r.armed[i]
		if entity != turn.Entity || len(waiting) == 0 || !p.Free() {
			continue
		}
		s := waiting[0]
		r.armed[i] = waiting[1:]
		r.after(s.Delay, func() {
			switch {
			case r.ending:
			case !p.Free() || !turn.Holding() || s.Follows && !follows(p, turn):
				r.armed[i] = append(r.armed[i], s) // too late, or another: the next one
			default:
				r.hit(p, s)
			}
		})
	}
}

// follows reports whether a turn has followed another one of its block in memory.
func follows(p *crew.Process, turn *turns.Turn) bool {
	return slices.ContainsFunc(p.Turns, func(t *turns.Turn) bool {
		return t.Entity == turn.Entity && t.Followed && t.Ticket.Plus(1) == turn.Ticket
	})
}

// hit kills or stops a process.
func (r *run) hit(p *crew.Process, s Strike) {
	r.count[s.Kind]++
	doing := "at rest"
	if turn := p.Holding(); turn != nil {
		doing = fmt.Sprintf("holds %s, ticket %s", turn.Entity, turn.Ticket)
	} else if turn := p.Waiting(); turn != nil {
		doing = "waits for " + turn.Entity
	}
	if s.Kind == KillWorker {
		if s.Alone {
			r.leaveAlone(r.History.Entities[s.Entity])
		}
		_ = p.Kill()
		r.show(fmt.Sprintf("%s killed: it %s", p.Worker, doing))
		return
	}
	p.Stopped = true
	_ = p.Signal(syscall.SIGSTOP)
	r.show(fmt.Sprintf("%s stopped for %v: it %s", p.Worker, s.Length.Round(time.Millisecond), doing))
	r.freeze(p, s.Length, 0)
}

// leaveAlone spares the requests for a lock until it is granted again, or for
// as long as that may take.
func (r *run) leaveAlone(entity string) {
	r.spare(entity, true)
	r.alone[entity]++
	turn := r.alone[entity]
	r.after(r.History.TTL+2*slack, func() {
		if r.alone[entity] == turn {
			r.spare(entity, false)
		}
	})
}

func (r *run) spare(entity string, spared bool) {
	r.quiet[entity] = spared
	r.proxy.spare(entity, spared)
}

// spared reports whether a process waits for a lock that is left alone.
func (r *run) spared(p *crew.Process) bool {
	return slices.ContainsFunc(p.UnderWay(), func(t *turns.Turn) bool { return t.Waiting() && r.quiet[t.Entity] })
}

// freezeTries is how often freeze checks whether a process is paused.
const freezeTries = 1000

// freeze waits until a process is paused, and then for the length of the stop.
func (r *run) freeze(p *crew.Process, length time.Duration, tries int) {
	if !crew.StandsStill(p.Pid()) && tries < freezeTries && !p.Ended {
		r.after(time.Millisecond, func() { r.freeze(p, length, tries+1) })
		return
	}
	from := turns.Now()
	r.after(length, func() {
		r.Stops = append(r.Stops, Span{p.Worker, from, turns.Now()})
		_ = p.Signal(syscall.SIGCONT)
		p.Stopped = false
	})
}

// patience is how long the engine is spared while a recovery is measured, until
// it is looked again.
const patience = 300 * time.Millisecond

// strikeEngine kills the engine, and starts it again after that long.
func (r *run) strikeEngine(length time.Duration) {
	if r.down || r.ending {
		return
	}
	for _, quiet := range r.quiet {
		if quiet {
			r.after(patience, func() { r.strikeEngine(length) })
			return
		}
	}
	r.count[KillEngine]++
	r.down = true
	r.Downs = append(r.Downs, Span{From: turns.Now()})
	outage := len(r.Downs) - 1
	r.show(fmt.Sprintf("the engine killed, for %v", length.Round(time.Millisecond)))
	r.helper.Go(func() {
		r.engine.kill()
		select {
		case <-time.After(length):
		case <-r.ctx.Done():
			return
		}
		err := r.engine.start(r.ctx)
		r.do(func() {
			r.Downs[outage].To = turns.Now()
			r.down = false
			if err != nil {
				r.Errors = append(r.Errors, Error{"the run", err.Error()})
			}
			if r.up != nil {
				r.up()
			}
		})
	})
}

// outages kills the engine as often as is asked for, each time at a random instant after it has begun again.
func (r *run) outages(finished func()) {
	random, left := rand.New(rand.NewPCG(r.Seed, uint64(KillEngine))), r.Restarts
	r.up = func() {
		if left == 0 {
			finished()
			return
		}
		left--
		work, length := time.Duration(random.Int64N(int64(700*time.Millisecond))), time.Duration(random.Int64N(int64(100*time.Millisecond)))
		r.after(work, func() { r.strikeEngine(length) })
	}
	r.up()
}

// strikeRequests begins a burst, and ends it.
func (r *run) strikeRequests(s Strike) {
	r.count[s.Kind]++
	r.burst++
	burst := r.burst
	r.proxy.setMix(bursts[s.Kind])
	r.show(fmt.Sprintf("%v, for %v", s.Kind, s.Length.Round(time.Millisecond)))
	r.after(s.Length, func() {
		if r.burst == burst && !r.ending {
			r.proxy.setMix(calm)
		}
	})
}
