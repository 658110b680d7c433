package chaos

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/chaos/worker"
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
		for i := range r.crew.processes {
			p := r.crew.processes[(len(r.crew.processes)+s.Worker-i)%len(r.crew.processes)]
			if p.free() && !r.spared(p) {
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

// served hits whoever was just served, if somebody is to be.
func (r *run) served(p *process) {
	turn := r.holding(p)
	r.spare(turn.Entity, false)
	for i, entity := range r.History.Entities {
		waiting := r.armed[i]
		if entity != turn.Entity || len(waiting) == 0 || !p.free() {
			continue
		}
		s := waiting[0]
		r.armed[i] = waiting[1:]
		ticket := turn.Ticket
		r.after(s.Delay, func() {
			switch now := r.holding(p); {
			case r.ending:
			case !p.free() || now == nil || now.Ticket != ticket:
				r.armed[i] = append(r.armed[i], s) // too late: the next one
			default:
				r.hit(p, s)
			}
		})
	}
}

// hit kills or stops a process.
func (r *run) hit(p *process, s Strike) {
	r.count[s.Kind]++
	doing := "at rest"
	if turn := r.holding(p); turn != nil {
		doing = fmt.Sprintf("holds %s, ticket %d", turn.Entity, turn.Ticket)
	} else if i := p.track.attempt; i > 0 {
		doing = "waits for " + r.Attempts[i-1].Entity
	}
	if s.Kind == KillWorker {
		if s.Alone {
			r.leaveAlone(r.History.Entities[s.Entity])
		}
		p.killed = true
		r.Kills = append(r.Kills, Kill{p.name, worker.Now()})
		_ = p.Signal(syscall.SIGKILL)
		r.show(fmt.Sprintf("%s killed: it %s", p.name, doing))
		return
	}
	p.stopped = true
	_ = p.Signal(syscall.SIGSTOP)
	r.show(fmt.Sprintf("%s stopped for %v: it %s", p.name, s.Length.Round(time.Millisecond), doing))
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
	r.proxy.Spare(entity, spared)
}

// spared reports whether a process waits for a lock that is left alone.
func (r *run) spared(p *process) bool {
	i := p.track.attempt
	return i > 0 && r.quiet[r.Attempts[i-1].Entity]
}

// freezeTries is how often it is looked whether a process stands still.
const freezeTries = 1000

// freeze waits until a process stands still, and then for the length of the
// stop.
func (r *run) freeze(p *process, length time.Duration, tries int) {
	if !standsStill(p.Pid()) && tries < freezeTries && !p.gone {
		r.after(time.Millisecond, func() { r.freeze(p, length, tries+1) })
		return
	}
	from := worker.Now()
	r.after(length, func() {
		r.Stops = append(r.Stops, Span{p.name, from, worker.Now()})
		_ = p.Signal(syscall.SIGCONT)
		p.stopped = false
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
	r.Downs = append(r.Downs, Span{From: worker.Now()})
	outage := len(r.Downs) - 1
	r.show(fmt.Sprintf("the engine killed, for %v", length.Round(time.Millisecond)))
	r.helper.Go(func() {
		r.engine.kill()
		timer := time.NewTimer(length)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.over:
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			select {
			case <-r.over:
				cancel()
			case <-stop:
			}
		}()
		err := r.engine.start(ctx)
		r.do(func() {
			r.Downs[outage].To = worker.Now()
			r.down = false
			if err != nil {
				r.Errors = append(r.Errors, Error{"the run", err.Error()})
			}
		})
	})
}

// strikeRequests begins a burst, and ends it.
func (r *run) strikeRequests(s Strike) {
	r.count[s.Kind]++
	r.burst++
	burst := r.burst
	r.proxy.SetMix(bursts[s.Kind])
	r.show(fmt.Sprintf("%v, for %v", s.Kind, s.Length.Round(time.Millisecond)))
	r.after(s.Length, func() {
		if r.burst == burst && !r.ending {
			r.proxy.SetMix(calm)
		}
	})
}
