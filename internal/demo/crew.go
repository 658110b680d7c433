package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/queuelock/queuelock/internal/child"
)

// process is one worker process, seen from the parent.
type process struct {
	*child.Child
	worker  int
	history *history
	stdin   *os.File
	killed  Instant // when it was killed; zero: it was not
	gone    bool
}

// event is a record of a process, or its end.
type event struct {
	process *process
	record  Record
	ended   bool
	at      Instant // of the end
	err     error   // of a record that cannot be read
}

// crew is all processes that were started. It belongs to one goroutine; the
// readers of the pipes only send events.
type crew struct {
	command   func() *exec.Cmd
	events    chan event
	processes []*process
	stopped   chan struct{} // closed when nobody receives events any more
}

func newCrew(command func() *exec.Cmd) *crew {
	return &crew{command: command, events: make(chan event), stopped: make(chan struct{})}
}

// start starts a worker process and gives it its assignment.
func (c *crew) start(worker int, a Assignment) (*process, error) {
	line, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	started, stdin, stdout, err := child.StartPiped(c.command())
	if started == nil {
		return nil, fmt.Errorf("start worker %d: %w", worker, err)
	}
	p := &process{Child: started, worker: worker, history: newHistory(worker, a.WaiterTTL), stdin: stdin}
	c.processes = append(c.processes, p)
	go c.follow(p, stdout)
	p.tell(string(line))
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
	for lines.Scan() {
		var r Record
		err := json.Unmarshal(lines.Bytes(), &r)
		if err != nil && p.Killed() {
			break // its last line was cut off
		}
		if err != nil {
			err = fmt.Errorf("worker %d wrote %q: %w", p.worker, lines.Text(), err)
		}
		send(event{process: p, record: r, err: err})
	}
	<-p.Exited()
	send(event{process: p, ended: true, at: clock()})
}

// tell writes a line to the process. One that cannot be told has ended, and
// its end is an event that says more.
func (p *process) tell(line string) { _, _ = io.WriteString(p.stdin, line+"\n") }

// release lets a process that is ready begin.
func (p *process) release() { p.tell("go") }

// kill kills the process at once.
func (p *process) kill() error {
	p.killed = clock()
	return p.Signal(syscall.SIGKILL)
}

// stop ends all processes, and waits for them.
func (c *crew) stop() {
	close(c.stopped)
	for _, p := range c.processes {
		_ = p.Signal(syscall.SIGKILL)
		_ = p.stdin.Close()
	}
	for _, p := range c.processes {
		<-p.Exited()
	}
}

// next waits for the next event, or for one of the two ends.
func (c *crew) next(ctx context.Context, timer <-chan time.Time) (e event, fired bool, err error) {
	select {
	case e = <-c.events:
		return e, false, e.err
	case <-timer:
		return event{}, true, nil
	case <-ctx.Done():
		return event{}, false, context.Cause(ctx)
	}
}
