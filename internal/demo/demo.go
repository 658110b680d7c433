package demo

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

const (
	// Lease is the lease of a holder. It is short, so that one can watch a
	// dead holder being replaced.
	Lease = 2 * time.Second
	// waiterLease is the lease of a row.
	waiterLease = 2 * time.Second
	// strikeDelay is how long the doomed turn has lasted at the least when its
	// holder is killed: long enough to be seen in the timeline, and for the next
	// in line to have looked at the holder that it will have to outlive.
	strikeDelay = Lease / 8
	// tolerance is by how much a recovery may exceed the lease: the lease
	// counts from the last renewal, or from when the next in line first saw
	// the holder, and DynamoDB's clock is known to a second at the worst.
	tolerance = time.Second
	// turnLimit is how long a hand-off may take on average before the demo is
	// given up.
	turnLimit = time.Second
	// startLimit is what is given to it besides: for starting and recovering.
	startLimit = 30*time.Second + 3*Lease
)

// Config is what Run needs. All fields but Show are required.
type Config struct {
	Workers, Rounds int // 2 and 1 at the least
	Hold            time.Duration
	Table, Entity   string
	// Command makes the command of a worker process, which must call Work. Its
	// Stdin and Stdout are for Run to set.
	Command func() *exec.Cmd
	// Show is told what happens while it happens, on the goroutine of Run.
	Show func(Event)
}

func (c Config) limit() time.Duration {
	return startLimit + time.Duration(c.Workers*c.Rounds)*(c.Hold+turnLimit)
}

// victim is the worker that is killed, and doomed its round.
func (c Config) victim() int { return (c.Workers + 1) / 2 }
func (c Config) doomed() int { return (c.Rounds + 1) / 2 }

// Happening says what an Event is.
type Happening int

// The happenings.
const (
	TurnOver  Happening = iota // a turn has ended
	Killed                     // the holder was killed, and is gone
	Restarted                  // its rest was given to a new process
	Recovered                  // the first turn after the kill has begun
)

// Event is something that happened.
type Event struct {
	What    Happening
	At      time.Duration // since the beginning
	Worker  int
	Pid     int
	Attempt Attempt       // the turn, if it is about one
	Took    time.Duration // of a recovery: since the kill
}

// Result is what happened in the end.
type Result struct {
	Config   Config
	Attempts []Attempt
	Verdict  Verdict
	Usage    Usage
	Crashes  int // workers that died by the demo's hand
	Began    Instant
	Wall     time.Duration
}

// stage is a demo under way.
type stage struct {
	Config
	*crew
	result *Result

	ready   int         // processes that are, before the start
	open    bool        // all workers were let go
	timer   *time.Timer // until the doomed turn may be ended; nil: it has not begun
	due     bool        // it may
	killed  *process    // the victim, once it was killed
	replace bool        // the next turn has begun
}

// Run runs the demo to its end. The error is that of something that kept it
// from ending; a lock that broke its promise is in the Verdict. No process is
// left when it returns. It is over when ctx is, and at the latest after half a
// minute and a second or more for each turn.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	limit := cfg.limit()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the demo has not ended within %v", limit))
	defer cancel()
	s := &stage{Config: cfg, crew: newCrew(cfg.Command), result: &Result{Config: cfg, Began: clock()}}
	if s.Show == nil {
		s.Show = func(Event) {}
	}
	defer s.crew.stop()
	for worker := range cfg.Workers {
		if _, err := s.start(worker+1, s.assignment(worker+1)); err != nil {
			return nil, err
		}
	}
	for !s.over() {
		if err := s.step(ctx); err != nil {
			return nil, err
		}
	}
	s.result.Wall = clock().Sub(s.result.Began)
	for _, p := range s.processes {
		for _, a := range p.history.attempts {
			s.result.Attempts = append(s.result.Attempts, *a)
		}
		s.result.Usage = s.result.Usage.Add(p.history.usage)
	}
	s.result.Verdict = Judge(s.result.Attempts)
	return s.result, nil
}

func (s *stage) assignment(worker int) Assignment {
	a := Assignment{
		Table: s.Table, Entity: s.Entity, Owner: fmt.Sprintf("worker %d", worker),
		First: 1, Last: s.Rounds, Hold: s.Hold, TTL: Lease, WaiterTTL: waiterLease,
	}
	if worker == s.victim() {
		a.Doomed = s.doomed()
	}
	return a
}

// over reports whether all processes have ended.
func (s *stage) over() bool {
	for _, p := range s.processes {
		if !p.gone {
			return false
		}
	}
	return true
}

// step waits for something to happen, and reacts.
func (s *stage) step(ctx context.Context) error {
	var timer <-chan time.Time
	if s.timer != nil {
		timer = s.timer.C
	}
	e, fired, err := s.next(ctx, timer)
	switch {
	case err != nil:
		return err
	case fired:
		s.due = true
	case e.ended:
		err = s.ended(e.process, e.at)
	default:
		s.recorded(e.process, e.record)
	}
	if err != nil {
		return err
	}
	return s.strike()
}

// recorded reacts to a record.
func (s *stage) recorded(p *process, r Record) {
	a := p.history.add(r)
	switch r.Kind {
	case Ready:
		s.isReady(p)
	case Took:
		// The victim is the first in the queue, and so not the last of its
		// round: somebody is left to recover. The others follow at once.
		if !s.open {
			s.open = true
			s.releaseAll(func(p *process) bool { return p.worker != s.victim() })
		}
	case Granted:
		if p.worker == s.victim() && a.Round == s.doomed() {
			s.timer = time.NewTimer(max(s.Hold/2, strikeDelay))
		}
		if s.killed != nil && !s.replace {
			s.replace = true
			e := s.event(Recovered, p, r.At)
			e.Took = r.At.Sub(s.killed.killed)
			s.Show(e)
		}
	case Ended:
		s.Show(s.event(TurnOver, p, r.At))
	}
}

// isReady lets a process go, if the time has come.
func (s *stage) isReady(p *process) {
	if s.open {
		p.release()
		return
	}
	if s.ready++; s.ready == s.Workers {
		s.releaseAll(func(p *process) bool { return p.worker == s.victim() })
	}
}

func (s *stage) releaseAll(which func(*process) bool) {
	for _, p := range s.processes {
		if which(p) {
			p.release()
		}
	}
}

// strike kills the victim when its doomed turn has lasted for a while and
// somebody waits for the next one.
func (s *stage) strike() error {
	if !s.due || s.killed != nil || !s.waited() {
		return nil
	}
	for _, p := range s.processes {
		if p.worker != s.victim() {
			continue
		}
		if a := p.history.current(); p.gone || a.Round != s.doomed() || a.Ended != 0 {
			return fmt.Errorf("worker %d lost its lock before it could be killed", p.worker)
		}
		s.killed = p
		return p.kill()
	}
	return nil
}

// waited reports whether somebody's row stands who is not served yet.
func (s *stage) waited() bool {
	for _, p := range s.processes {
		if a := p.history.current(); !p.gone && a != nil && len(a.Places) > 0 && a.Granted == 0 {
			return true
		}
	}
	return false
}

// ended reacts to the end of a process.
func (s *stage) ended(p *process, at Instant) error {
	p.gone = true
	p.history.died(at, p.killed)
	switch {
	case p.killed != 0 && p.Killed():
		s.result.Crashes++
		s.Show(s.event(Killed, p, p.killed))
		return s.restart(p)
	case p.history.failure != "":
		return fmt.Errorf("worker %d: %s", p.worker, p.history.failure)
	case !p.history.done:
		return fmt.Errorf("worker %d ended before its work was done: %v", p.worker, p.State())
	}
	return nil
}

// restart gives what a killed worker has left to a new process.
func (s *stage) restart(p *process) error {
	a := s.assignment(p.worker)
	a.First, a.Doomed = s.doomed()+1, 0
	if a.First > a.Last {
		return nil
	}
	next, err := s.start(p.worker, a)
	if err != nil {
		return err
	}
	s.Show(s.event(Restarted, next, clock()))
	return nil
}

func (s *stage) event(what Happening, p *process, at Instant) Event {
	e := Event{What: what, At: at.Sub(s.result.Began), Worker: p.worker, Pid: p.Pid()}
	if a := p.history.current(); a != nil {
		e.Attempt = *a
	}
	return e
}
