// Package demo is the command "queuelock demo". Worker processes take turns at one lock,
// one of them is killed while it holds the lock, and the records of all show whether the
// lock kept its promises. It is a demonstration, not a test.
//
// Each worker uses the real library and real sockets. It reports its turns over a pipe, and
// the parent judges the reports. Package crew runs the processes. Package
// turns has the records, the clock and the judge.
//
//	parent                              worker (one process each)
//	──────                              ─────────────────────────
//	starts it, sends an Assignment ───► ready
//	says go                        ───► asked, took, queued, renewed, granted,
//	                               ◄─── ended, released, … done
//	SIGKILL at the victim's granted,
//	and a new process for its rest
package demo

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
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
	// Show is called with a line for each event as it happens, on the goroutine of Run.
	Show func(string)
}

func (c Config) limit() time.Duration {
	return startLimit + time.Duration(c.Workers*c.Rounds)*(c.Hold+turnLimit)
}

// victim is the number of the worker that is killed, and doomed its round.
func (c Config) victim() int { return (c.Workers + 1) / 2 }
func (c Config) doomed() int { return (c.Rounds + 1) / 2 }

func nameOf(worker int) string { return fmt.Sprintf("worker %d", worker) }

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

type stage struct {
	Config
	crew   *crew.Crew
	result *Result
	killed *crew.Process // the victim, once it was killed
	served bool          // another worker after that
	err    error         // what has failed
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
		s.Show = func(string) {}
	}
	defer func() { _ = s.crew.Stop(false) }()
	for worker := 1; worker <= cfg.Workers; worker++ {
		if _, err := s.start(worker, s.assignment(worker)); err != nil {
			return nil, err
		}
	}
	if err := s.play(ctx); err != nil {
		return nil, err
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

// play lets the workers take their turns, and kills the victim in its doomed turn once that has lasted for strikeDelay and
// another worker waits for the next. The victim is the first in the queue, and so not the last of its round: another
// worker is left to recover.
func (s *stage) play(ctx context.Context) error {
	victim := s.crew.Processes[s.victim()-1]
	others := slices.DeleteFunc(slices.Clone(s.crew.Processes), func(p *crew.Process) bool { return p == victim })
	s.until(ctx, nil, func(crew.Event) bool { return s.all(func(p *crew.Process) bool { return p.Ready }) })
	victim.Tell("go")
	s.until(ctx, nil, func(e crew.Event) bool { return e.Record.Kind == turns.Took })
	for _, p := range others {
		p.Tell("go")
	}
	s.until(ctx, nil, func(e crew.Event) bool {
		return e.Process == victim && e.Record.Kind == turns.Granted && len(victim.Turns) == s.doomed()
	})
	s.until(ctx, time.After(max(s.Hold/2, strikeDelay)), func(crew.Event) bool { return false })
	s.until(ctx, nil, func(crew.Event) bool { return slices.ContainsFunc(others, waits) })
	switch {
	case s.err != nil:
		return s.err
	case victim.Ended || victim.Holding() == nil:
		return fmt.Errorf("%s lost its lock before it could be killed", victim.Worker)
	}
	s.killed, s.err = victim, victim.Kill()
	s.until(ctx, nil, func(crew.Event) bool { return s.all(func(p *crew.Process) bool { return p.Ended }) })
	return s.err
}

func (s *stage) all(are func(*crew.Process) bool) bool {
	return !slices.ContainsFunc(s.crew.Processes, func(p *crew.Process) bool { return !are(p) })
}

func waits(p *crew.Process) bool {
	t := p.Waiting()
	return !p.Ended && t != nil && len(t.Places) > 0
}

// until takes in what the workers report until that holds after the last event, until the timer, or until something has failed.
func (s *stage) until(ctx context.Context, timer <-chan time.Time, holds func(crew.Event) bool) {
	for e := (crew.Event{}); s.err == nil && !holds(e); {
		select {
		case e = <-s.crew.Events():
			s.err = s.happened(&e)
		case <-timer:
			return
		case <-ctx.Done():
			s.err = context.Cause(ctx)
		}
	}
}

func (s *stage) happened(e *crew.Event) error {
	if err := s.crew.Note(e); err != nil {
		return err
	}
	p, r := e.Process, e.Record
	switch {
	case e.Ended:
		return s.ended(p)
	case r.Kind == turns.Ready && s.killed != nil: // it was started again
		p.Tell("go")
	case r.Kind == turns.Granted && s.killed != nil && !s.served:
		s.served = true
		s.say(p, r.At, "is served, %s after the kill: the killed holder's lease of %v is over", seconds(r.At.Sub(s.killed.KilledAt)), Lease)
	case r.Kind == turns.Ended:
		s.say(p, r.At, "%s", outcome(*p.Current()))
	}
	return nil
}

func (s *stage) ended(p *crew.Process) error {
	switch {
	case p.KilledAt != 0 && p.Killed():
		// Nothing else disturbs it here, so it held the lock until it was gone.
		if t := p.Current(); t.Gone != 0 {
			t.Until = t.Gone
		}
		s.result.Crashes++
		s.say(p, p.KilledAt, "%s  KILLED in the middle of its turn (SIGKILL, pid %d)", outcome(*p.Current()), p.Pid())
		return s.restart(p)
	case p.Failure != "":
		return fmt.Errorf("%s: %s", p.Worker, p.Failure)
	case !p.Done:
		return fmt.Errorf("%s ended before its work was done: %v", p.Worker, p.State())
	}
	return nil
}

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
	s.say(next, turns.Now(), "started again as pid %d, at the end of the queue", next.Pid())
	return nil
}

func (s *stage) say(p *crew.Process, at turns.Instant, format string, args ...any) {
	s.Show(fmt.Sprintf("%8.3f s  %-9s  %s", at.Sub(s.result.Began).Seconds(), p.Worker, fmt.Sprintf(format, args...)))
}
