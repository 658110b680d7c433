package crew

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/queuelock/queuelock/internal/child"
	"github.com/queuelock/queuelock/internal/workload/turns"
)

// Process is one worker process that takes turns, seen from its supervisor.
type Process struct {
	*child.Piped
	*turns.Track     // of its records so far
	Number       int // of the worker whose place it has

	Ready, Done bool          // it said so
	Failure     string        // what it said of its failure
	Ended       bool          // its end was received
	KilledAt    turns.Instant // before Kill; zero: it was not killed
	Stopped     bool          // the supervisor has stopped it and not continued it
}

// Free reports whether the process is at work, and neither killed nor stopped.
func (p *Process) Free() bool { return p.Ready && !p.Ended && p.KilledAt == 0 && !p.Stopped }

// Tell sends a message to the process. A process that cannot read it has ended, and
// its end is an event that says more.
func (p *Process) Tell(message any) { _ = p.Send(message) }

// Kill kills the process at once.
func (p *Process) Kill() error {
	p.KilledAt = turns.Now()
	return p.Signal(syscall.SIGKILL)
}

// Event is a record of a process, or its end.
type Event struct {
	Process *Process
	Record  turns.Record
	Turn    *turns.Turn // that the record belongs to; set by Note
	Ended   bool
	At      turns.Instant // of the end
	Err     error         // of a record that cannot be read
}

// Crew is all processes that were started. It belongs to one goroutine; the
// readers of the pipes only send events.
type Crew struct {
	Processes []*Process

	command   func() *exec.Cmd
	events    chan Event
	followers sync.WaitGroup
	stopped   chan struct{} // closed when events are received no more
}

// New makes a crew without processes. command makes the command of one, without
// its standard input and output.
func New(command func() *exec.Cmd) *Crew {
	return &Crew{command: command, events: make(chan Event), stopped: make(chan struct{})}
}

// Events returns what the processes report. Each event must be given to Note.
func (c *Crew) Events() <-chan Event { return c.events }

// Start starts a worker process and gives it its assignment. rowLease is the lease
// of its queue rows.
func (c *Crew) Start(number int, name string, rowLease time.Duration, assignment any) (*Process, error) {
	started, err := child.StartPiped(c.command())
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{Piped: started, Track: turns.NewTrack(name, rowLease), Number: number}
	c.Processes = append(c.Processes, p)
	c.followers.Go(func() { c.follow(p) })
	p.Tell(assignment)
	return p, nil
}

// follow sends what the process reports, and its end once it is gone.
func (c *Crew) follow(p *Process) {
	send := func(e Event) {
		select {
		case c.events <- e:
		case <-c.stopped:
		}
	}
	p.Follow(func(line []byte) bool {
		var r turns.Record
		err := json.Unmarshal(line, &r)
		switch {
		case err == nil:
			send(Event{Process: p, Record: r})
		case !p.Killed(): // otherwise its last line is incomplete
			send(Event{Process: p, Err: fmt.Errorf("%s wrote %q: %w", p.Worker, line, err)})
		}
		return err == nil
	})
	send(Event{Process: p, Ended: true, At: turns.Now()})
}

// Note takes an event into account for its process. Its error is the event's.
func (c *Crew) Note(e *Event) error {
	p := e.Process
	switch {
	case e.Err != nil:
		return e.Err
	case e.Ended:
		p.Ended = true
		p.Died(e.At, p.KilledAt)
		return nil
	}
	switch e.Record.Kind {
	case turns.Ready:
		p.Ready = true
	case turns.Done:
		p.Done = true
	case turns.Failed:
		p.Failure = e.Record.Error
	}
	e.Turn = p.Add(e.Record)
	return nil
}

// Turns returns the turns of all processes.
func (c *Crew) Turns() (all []turns.Turn) {
	for _, p := range c.Processes {
		for _, t := range p.Turns {
			all = append(all, *t)
		}
	}
	return all
}

// leavesNothing reports whether no process of the group is left once the leader has exited.
// A killed process ends a moment after the signal, and nothing reports the end of a
// grandchild, so it asks for up to five seconds.
func (p *Process) leavesNothing() bool {
	for begun := time.Now(); !p.Gone(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > 5*time.Second {
			return false
		}
	}
	return true
}

// Stop ends all processes, and waits for them and for their readers. It is an
// error if a process has left others behind, or was still running although all
// were to have ended.
func (c *Crew) Stop(all bool) error {
	close(c.stopped)
	var errs []error
	for _, p := range c.Processes {
		if !p.Ended {
			if all {
				errs = append(errs, fmt.Errorf("%s (process %d) did not end by itself", p.Worker, p.Pid()))
			}
			_ = p.Signal(syscall.SIGKILL)
		}
		p.Dismiss()
	}
	for _, p := range c.Processes {
		<-p.Exited()
		if !p.leavesNothing() {
			errs = append(errs, fmt.Errorf("processes of the group of %s (%d) are left", p.Worker, p.Pid()))
			_ = p.Signal(syscall.SIGKILL)
		}
	}
	c.followers.Wait()
	return errors.Join(errs...)
}
