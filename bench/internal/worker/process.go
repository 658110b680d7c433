package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/queuelock/queuelock/bench/internal/subject"
	"github.com/queuelock/queuelock/bench/npm"
	"github.com/queuelock/queuelock/internal/child"
)

// Process is a worker, as the benchmark sees it.
type Process struct {
	of    subject.Subject
	child *child.Child
	stdin *os.File

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

// Start starts a worker. modules is the node_modules folder of npm's packages.
func Start(of subject.Subject, modules string) (*Process, error) {
	command, err := commandFor(of, modules)
	if err != nil {
		return nil, err
	}
	command.Stderr = os.Stderr
	started, stdin, stdout, err := child.StartPiped(command)
	if err != nil {
		return nil, fmt.Errorf("start a worker of %s: %w", of.Name, err)
	}
	p := &Process{of: of, child: started, stdin: stdin, pending: map[int]chan reply{}}
	go p.read(stdout)
	return p, nil
}

func commandFor(of subject.Subject, modules string) (*exec.Cmd, error) {
	if of.Open == nil {
		command := exec.Command("node", "--expose-gc", "--no-warnings", "-e", npm.Worker, of.Name)
		command.Env = append(os.Environ(), "NODE_PATH="+modules, "AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE=1")
		return command, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(self, "worker", of.Name), nil
}

// Kill ends the worker as a crash would, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.child.Signal(syscall.SIGKILL)
	<-p.child.Exited()
	_ = p.stdin.Close()
}

func (p *Process) read(stdout *os.File) {
	defer stdout.Close()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		r := reply{at: time.Now()}
		if err := json.Unmarshal(lines.Bytes(), &r.Answer); err != nil {
			continue // a line that a library prints
		}
		p.mu.Lock()
		waiting := p.pending[r.ID]
		delete(p.pending, r.ID)
		p.mu.Unlock()
		if waiting != nil {
			waiting <- r
		}
	}
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
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	p.pending[r.ID] = waiting
	if _, err := p.stdin.Write(append(line, '\n')); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		delete(p.pending, r.ID)
		return errEnded
	}
	return nil
}

// Usage collects garbage in the worker and reports its memory.
func (p *Process) Usage(ctx context.Context) (Answer, error) {
	r, err := p.call(ctx, request{Op: opUsage})
	return r.Answer, err
}

// Open makes a client in the worker.
func (p *Process) Open(ctx context.Context, site subject.Site) (*Client, error) {
	p.mu.Lock()
	p.clients++
	c := &Client{process: p, number: p.clients}
	p.mu.Unlock()
	_, err := p.call(ctx, request{Op: opOpen, Client: c.number, Site: &site})
	return c, err
}

// Client is a client in a worker.
type Client struct {
	process *Process
	number  int
}

// Turn is a lock that a client holds.
type Turn struct {
	Granted time.Time // when the worker's answer came

	client *Client
	id     int
}

// Acquire waits for the lock. A worker goes on waiting when ctx ends.
func (c *Client) Acquire(ctx context.Context, key string) (Turn, error) {
	r, err := c.process.call(ctx, request{Op: opAcquire, Client: c.number, Key: key})
	return Turn{r.at, c, r.ID}, err
}

// Try acquires the lock if it is free.
func (c *Client) Try(ctx context.Context, key string) (Turn, bool, error) {
	r, err := c.process.call(ctx, request{Op: opTry, Client: c.number, Key: key})
	return Turn{r.at, c, r.ID}, r.OK, err
}

// Cycles acquires and releases many keys.
func (c *Client) Cycles(ctx context.Context, work Work) (Answer, error) {
	r, err := c.process.call(ctx, request{Op: opCycles, Client: c.number, Work: &work})
	return r.Answer, err
}

// Release ends the turn.
func (t Turn) Release(ctx context.Context) error {
	_, err := t.client.process.call(ctx, request{Op: opRelease, Client: t.client.number, Lock: t.id})
	return err
}
