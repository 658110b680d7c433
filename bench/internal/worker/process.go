package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/queuelock/queuelock/bench/internal/subject"
	"github.com/queuelock/queuelock/bench/npm"
	"github.com/queuelock/queuelock/internal/child"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// Process is a worker, as the benchmark sees it.
type Process struct {
	of       subject.Subject
	site     subject.Site
	profiled bool
	worker   *child.Piped

	mu      sync.Mutex
	pending map[int]chan reply // guarded by mu; nil once the process has ended
	last    int                // guarded by mu; the id of the last request
	clients int                // guarded by mu
}

// reply is an answer and when it came.
type reply struct {
	Answer
	at time.Time
}

var _ scenario.Process = (*Process)(nil)

// Start starts a worker, whose clients work at site. modules is the node_modules folder
// of npm's packages. A worker in Go writes a processor profile to the file profile, unless that is empty.
func Start(of subject.Subject, site subject.Site, modules, profile string) (*Process, error) {
	command, err := commandFor(of, modules, profile)
	if err != nil {
		return nil, err
	}
	command.Stderr = os.Stderr
	started, err := child.StartPiped(command)
	if err != nil {
		return nil, fmt.Errorf("start a worker of %s: %w", of.Name, err)
	}
	p := &Process{of: of, site: site, profiled: profile != "" && of.Open != nil, worker: started, pending: map[int]chan reply{}}
	go p.read()
	return p, nil
}

func commandFor(of subject.Subject, modules, profile string) (*exec.Cmd, error) {
	if of.Open == nil {
		command := exec.Command("node", "--expose-gc", "--no-warnings", "-e", npm.Worker, of.Name)
		command.Env = append(os.Environ(), "NODE_PATH="+modules, "AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE=1")
		return command, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(self, "worker", of.Name, profile), nil
}

// Kill ends the worker as a crash would, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.worker.Signal(syscall.SIGKILL)
	<-p.worker.Exited()
	p.worker.Dismiss()
}

func (p *Process) read() {
	p.worker.Follow(func(line []byte) bool {
		r := reply{at: time.Now()}
		if err := json.Unmarshal(line, &r.Answer); err != nil {
			return true // a line that a library prints
		}
		p.mu.Lock()
		waiting := p.pending[r.ID]
		delete(p.pending, r.ID)
		p.mu.Unlock()
		if waiting != nil {
			waiting <- r
		}
		return true
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, waiting := range p.pending {
		close(waiting)
	}
	p.pending = nil
}

// errEnded says that the worker ended before it answered.
var errEnded = errors.New("the worker has ended")

func (p *Process) call(ctx context.Context, r request) (reply, error) {
	waiting := make(chan reply, 1)
	if err := p.send(&r, waiting); err != nil {
		return reply{}, err
	}
	select {
	case answer, ok := <-waiting:
		switch {
		case !ok:
			return reply{}, errEnded
		case answer.Error != "":
			return answer, fmt.Errorf("%s: %s: %s", p.of.Name, r.Op, answer.Error)
		}
		return answer, nil
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
}

func (p *Process) send(r *request, waiting chan reply) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending == nil {
		return errEnded
	}
	p.last++
	r.ID = p.last
	p.pending[r.ID] = waiting
	if err := p.worker.Send(r); err != nil {
		delete(p.pending, r.ID)
		return errEnded
	}
	return nil
}

// End kills the worker. One that is profiled ends by itself, to write its profile.
func (p *Process) End() {
	if p.profiled {
		p.worker.Dismiss()
		select {
		case <-p.worker.Exited():
		case <-time.After(10 * time.Second):
		}
	}
	p.Kill()
}

// Usage collects garbage in the worker and reports its memory.
func (p *Process) Usage(ctx context.Context) (scenario.Usage, error) {
	r, err := p.call(ctx, request{Op: opUsage})
	return r.Usage, err
}

// Open makes a client in the worker.
func (p *Process) Open(ctx context.Context, lease time.Duration) (scenario.Client, error) {
	p.mu.Lock()
	p.clients++
	c := &client{process: p, number: p.clients}
	p.mu.Unlock()
	site := p.site
	site.Lease = lease
	_, err := p.call(ctx, request{Op: opOpen, Client: c.number, Site: &site})
	return c, err
}

// client is a client in a worker.
type client struct {
	process *Process
	number  int
}

// Acquire waits for the lock. The worker goes on waiting when ctx ends.
func (c *client) Acquire(ctx context.Context, key string) (scenario.Turn, error) {
	r, err := c.process.call(ctx, request{Op: opAcquire, Client: c.number, Key: key})
	return c.turn(r), err
}

// Try acquires the lock if it is free.
func (c *client) Try(ctx context.Context, key string) (scenario.Turn, bool, error) {
	r, err := c.process.call(ctx, request{Op: opTry, Client: c.number, Key: key})
	return c.turn(r), r.OK, err
}

// Cycles acquires and releases many keys.
func (c *client) Cycles(ctx context.Context, work scenario.Work) (scenario.Done, error) {
	r, err := c.process.call(ctx, request{Op: opCycles, Client: c.number, Work: &work})
	return r.Done, err
}

// Contend takes turns at one key.
func (c *client) Contend(ctx context.Context, crowd scenario.Crowd) (scenario.Done, error) {
	r, err := c.process.call(ctx, request{Op: opContend, Client: c.number, Crowd: &crowd})
	return r.Done, err
}

// turn returns the lock that an answer grants. It was granted when the answer came.
func (c *client) turn(r reply) scenario.Turn {
	return scenario.Turn{Granted: r.at, Release: func(ctx context.Context) error {
		_, err := c.process.call(ctx, request{Op: opRelease, Client: c.number, Lock: r.ID})
		return err
	}}
}
