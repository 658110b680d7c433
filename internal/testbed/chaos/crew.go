package chaos

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/queuelock/queuelock/internal/child"
	"github.com/queuelock/queuelock/internal/testbed/chaos/worker"
)

// process is one worker process, seen from the run.
type process struct {
	*child.Child
	name   string
	number int // of the worker whose place it has, from 0
	stdin  *os.File

	ready, gone     bool
	killed, stopped bool // by the run; stopped: now
	done            bool // it said that it was
	failure         string
	track           track
}

// free reports whether the process may be struck.
func (p *process) free() bool { return p.ready && !p.gone && !p.killed && !p.stopped }

// event is a record of a process, or its end.
type event struct {
	process *process
	record  worker.Record
	ended   bool
	err     error // of a record that cannot be read
}

// crew is all processes that were started. It belongs to one goroutine; the
// readers of the pipes only send events.
type crew struct {
	command   func() *exec.Cmd
	events    chan event
	processes []*process
	followers sync.WaitGroup
	stopped   chan struct{} // closed when nobody receives events any more
}

func newCrew(command func() *exec.Cmd) *crew {
	return &crew{command: command, events: make(chan event), stopped: make(chan struct{})}
}

// start starts a worker process and gives it its assignment.
func (c *crew) start(number int, a worker.Assignment) (*process, error) {
	line, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	started, stdin, stdout, err := child.StartPiped(c.command())
	if started == nil {
		return nil, fmt.Errorf("start %s: %w", a.Name, err)
	}
	p := &process{Child: started, name: a.Name, number: number, stdin: stdin}
	c.processes = append(c.processes, p)
	c.followers.Go(func() { c.follow(p, stdout) })
	// One that cannot be told has ended, and its end is an event.
	_, _ = stdin.Write(append(line, '\n'))
	return p, err
}

// follow sends what the process reports, and its end once it is gone.
func (c *crew) follow(p *process, out io.ReadCloser) {
	defer out.Close()
	send := func(e event) {
		select {
		case c.events <- e:
		case <-c.stopped:
		}
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r worker.Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			if p.Killed() {
				break // its last line was cut off
			}
			send(event{process: p, err: fmt.Errorf("%s wrote %q: %w", p.name, lines.Text(), err)})
			break
		}
		send(event{process: p, record: r})
	}
	<-p.Exited()
	send(event{process: p, ended: true})
}

// stop ends all processes, and waits for them and for their followers. It is
// an error if one of them has left somebody behind, or was still there
// although all were to have ended.
func (c *crew) stop(all bool) error {
	close(c.stopped)
	var errs []error
	for _, p := range c.processes {
		if !p.gone {
			if all {
				errs = append(errs, fmt.Errorf("%s (process %d) did not end by itself", p.name, p.Pid()))
			}
			_ = p.Signal(syscall.SIGKILL)
		}
		_ = p.stdin.Close()
	}
	for _, p := range c.processes {
		<-p.Exited()
		if !p.Gone() {
			errs = append(errs, fmt.Errorf("processes of the group of %s (%d) are left", p.name, p.Pid()))
			_ = p.Signal(syscall.SIGKILL)
		}
	}
	c.followers.Wait()
	return errors.Join(errs...)
}
