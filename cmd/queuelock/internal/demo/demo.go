package demo

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/queuelock/queuelock/internal/workload/crew"
	"github.com/queuelock/queuelock/internal/workload/turns"
)

const (
	// Lease is the lease of a holder. It is short, so that a reader can watch how a
	// killed holder is replaced.
	Lease = 2 * time.Second
	// waiterLease is the lease of a row.
	waiterLease = 2 * time.Second
	// strikeDelay is the shortest time from the grant of the doomed turn to the kill, so
	// that the timeline shows the turn and the next waiter has seen the holder.
	strikeDelay = Lease / 8
	// tolerance is by how much a recovery may exceed the lease. The lease counts from the
	// last renewal, or from the first look at the holder by the next waiter, and
	// DynamoDB's clock is known to a second at worst.
	tolerance = time.Second
	// turnLimit is the mean time of a hand-over after which the demo gives up.
	turnLimit = time.Second
	// startLimit is added to it, for the start and the recovery.
	startLimit = 30*time.Second + 3*Lease
)

// Config is what Run needs. All fields but Show are required.
type Config struct {
	Workers, Rounds int // at least 2 and 1
	Hold            time.Duration
	Table, Entity   string
	// Command returns the command of a worker process, which must call Work. Run sets its
	// Stdin and Stdout.
	Command func() *exec.Cmd
	// Show is called with each event as it happens, on the goroutine of Run.
	Show func(Event)
}

func (c Config) limit() time.Duration {
	return startLimit + time.Duration(c.Workers*c.Rounds)*(c.Hold+turnLimit)
}

// victim is the number of the worker that is killed, and doomed its round.
func (c Config) victim() int { return (c.Workers + 1) / 2 }
func (c Config) doomed() int { return (c.Rounds + 1) / 2 }

func nameOf(worker int) string { return fmt.Sprintf("worker %d", worker) }

// Happening is the kind of an Event.
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
	What   Happening
	At     time.Duration // since the beginning
	Worker string
	Pid    int
	Turn   turns.Turn    // the latest of the worker
	Took   time.Duration // of a recovery: since the kill
}

// Result is the outcome of a demo.
type Result struct {
	Config  Config
	Turns   []turns.Turn
	Verdict turns.Verdict
	Usage   turns.Usage
	Crashes int // workers that the demo killed
	Began   turns.Instant
	Wall    time.Duration
}

// stage is a demo under way.
type stage struct {
	Config
	crew   *crew.Crew
	result *Result

	ready   int           // processes that are ready, before the start
	open    bool          // all workers have begun
	timer   *time.Timer   // until the victim may be killed; nil: its turn has not begun
	due     bool          // the victim may be killed
	killed  *crew.Process // the victim, once it was killed
	replace bool          // the next turn has begun
}

// Run runs the demo to its end. Its error is the reason why the demo did not end. A lock
// that broke its promise is in the Verdict. No process is left when it returns. It ends
// with ctx, or after half a minute and a second or more for each turn.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	limit := cfg.limit()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the demo has not ended within %v", limit))
	defer cancel()
	s := &stage{Config: cfg, crew: crew.New(cfg.Command), result: &Result{Config: cfg, Began: turns.Now()}}
	if s.Show == nil {
		s.Show = func(Event) {}
	}
	defer func() { _ = s.crew.Stop(false) }()
	for worker := 1; worker <= cfg.Workers; worker++ {
		if _, err := s.start(worker, s.assignment(worker)); err != nil {
			return nil, err
		}
	}
	for !s.over() {
		if err := s.step(ctx); err != nil {
			return nil, err
		}
	}
	s.result.Wall = turns.Now().Sub(s.result.Began)
	for _, p := range s.crew.Processes {
		s.result.Usage = s.result.Usage.Add(p.Usage)
	}
	s.result.Turns = s.crew.Turns()
	s.result.Verdict = turns.Judge(s.result.Turns)
	return s.result, nil
}

func (s *stage) start(worker int, a Assignment) (*crew.Process, error) {
	return s.crew.Start(worker, a.Owner, a.WaiterTTL, a)
}

func (s *stage) assignment(worker int) Assignment {
	a := Assignment{
		Table: s.Table, Entity: s.Entity, Owner: nameOf(worker),
		First: 1, Last: s.Rounds, Hold: s.Hold, TTL: Lease, WaiterTTL: waiterLease,
	}
	if worker == s.victim() {
		a.Doomed = s.doomed()
	}
	return a
}

// over reports whether all processes have ended.
func (s *stage) over() bool {
	for _, p := range s.crew.Processes {
		if !p.Ended {
			return false
		}
	}
	return true
}

// step waits for an event and reacts to it.
func (s *stage) step(ctx context.Context) error {
	var timer <-chan time.Time
	if s.timer != nil {
		timer = s.timer.C
	}
	select {
	case e := <-s.crew.Events():
		if err := s.happened(&e); err != nil {
			return err
		}
	case <-timer:
		s.due = true
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return s.strike()
}

// happened reacts to an event of a process.
func (s *stage) happened(e *crew.Event) error {
	if err := s.crew.Note(e); err != nil {
		return err
	}
	if e.Ended {
		return s.ended(e.Process)
	}
	s.recorded(e.Process, e.Record)
	return nil
}

// recorded reacts to a record.
func (s *stage) recorded(p *crew.Process, r turns.Record) {
	switch r.Kind {
	case turns.Ready:
		s.isReady(p)
	case turns.Took:
		// The victim is the first in the queue, and so not the last of its round:
		// another worker is left to recover. The others follow at once.
		if !s.open {
			s.open = true
			s.releaseAll(func(p *crew.Process) bool { return p.Number != s.victim() })
		}
	case turns.Granted:
		if s.isDoomed(p) {
			s.timer = time.NewTimer(max(s.Hold/2, strikeDelay))
		}
		if s.killed != nil && !s.replace {
			s.replace = true
			e := s.event(Recovered, p, r.At)
			e.Took = r.At.Sub(s.killed.KilledAt)
			s.Show(e)
		}
	case turns.Ended:
		s.Show(s.event(TurnOver, p, r.At))
	}
}

// isDoomed reports whether the process is the victim, in its doomed round.
func (s *stage) isDoomed(p *crew.Process) bool {
	return p.Number == s.victim() && s.killed == nil && len(p.Turns) == s.doomed()
}

// isReady lets a process begin, if all others are ready.
func (s *stage) isReady(p *crew.Process) {
	if s.open {
		release(p)
		return
	}
	if s.ready++; s.ready == s.Workers {
		s.releaseAll(func(p *crew.Process) bool { return p.Number == s.victim() })
	}
}

// release lets a process that is ready begin.
func release(p *crew.Process) { p.Tell("go") }

func (s *stage) releaseAll(which func(*crew.Process) bool) {
	for _, p := range s.crew.Processes {
		if which(p) {
			release(p)
		}
	}
}

// strike kills the victim when its doomed turn has lasted for strikeDelay and another
// worker waits for the next turn.
func (s *stage) strike() error {
	if !s.due || s.killed != nil || !s.waited() {
		return nil
	}
	for _, p := range s.crew.Processes {
		if p.Number != s.victim() {
			continue
		}
		if p.Ended || !s.isDoomed(p) || p.Holding() == nil {
			return fmt.Errorf("%s lost its lock before it could be killed", p.Worker)
		}
		s.killed = p
		return p.Kill()
	}
	return nil
}

// waited reports whether the row of a waiting worker is present.
func (s *stage) waited() bool {
	for _, p := range s.crew.Processes {
		if t := p.Waiting(); !p.Ended && t != nil && len(t.Places) > 0 {
			return true
		}
	}
	return false
}

// ended reacts to the end of a process.
func (s *stage) ended(p *crew.Process) error {
	switch {
	case p.KilledAt != 0 && p.Killed():
		// Nothing else disturbs it here, so it held the lock until it was gone.
		if t := p.Current(); t.Gone != 0 {
			t.Until = t.Gone
		}
		s.result.Crashes++
		s.Show(s.event(Killed, p, p.KilledAt))
		return s.restart(p)
	case p.Failure != "":
		return fmt.Errorf("%s: %s", p.Worker, p.Failure)
	case !p.Done:
		return fmt.Errorf("%s ended before its work was done: %v", p.Worker, p.State())
	}
	return nil
}

// restart gives the rest of a killed worker's rounds to a new process.
func (s *stage) restart(p *crew.Process) error {
	a := s.assignment(p.Number)
	a.First, a.Doomed = s.doomed()+1, 0
	if a.First > a.Last {
		return nil
	}
	next, err := s.start(p.Number, a)
	if err != nil {
		return err
	}
	s.Show(s.event(Restarted, next, turns.Now()))
	return nil
}

func (s *stage) event(what Happening, p *crew.Process, at turns.Instant) Event {
	e := Event{What: what, At: at.Sub(s.result.Began), Worker: p.Worker, Pid: p.Pid()}
	if t := p.Current(); t != nil {
		e.Turn = *t
	}
	return e
}
