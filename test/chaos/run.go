package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/workload/crew"
	"github.com/queuelock/queuelock/internal/workload/turns"
	"github.com/queuelock/queuelock/test/chaos/worker"
)

const (
	tableName = "chaos"
	// readyLimit bounds how long all workers take to start.
	readyLimit = time.Minute
	// endLimit bounds how long they take to end: what a worker has, and as
	// much again for a busy machine.
	endLimit = 2 * worker.CloseLimit
)

// Config is what Run needs. All fields but Mistake and Show are required.
type Config struct {
	Seed              uint64
	Duration          time.Duration // of the faults
	Workers, Entities int
	TTL               time.Duration
	LongestTurn       time.Duration
	// Engine is dynoxide's binary, or that of queuelock if Restarts is set. Command makes the command of a worker
	// process at that endpoint, which must call worker.Work; its Stdin and
	// Stdout are for Run to set.
	Engine  string
	Command func(endpoint string) *exec.Cmd
	// Callers is the number of goroutines of the second half of the workers. The others have one.
	Callers int
	Mistake worker.Mistake // is planted; empty: none
	// Restarts, if set, is how often the engine is killed and started again, and nothing
	// else is broken. Then Duration is a bound.
	Restarts int
	// Show is called with what is done while it is done, on the goroutine of Run.
	Show func(at time.Duration, what string)
}

// run is a run under way. Its fields belong to the goroutine of Run.
type run struct {
	Config
	History
	engine *engine
	proxy  *proxy
	crew   *crew.Crew
	loop

	down   bool             // the engine is
	up     func()           // if set, is called when it has begun again
	ending bool             // workers were asked to end
	armed  map[int][]Strike // by entity: those that wait for a holder
	count  map[Kind]int
	alone  map[string]int  // by entity: how often it was left alone
	quiet  map[string]bool // by entity: it is
	burst  int             // number of the burst that is on
}

// Run lets workers take turns while it breaks things, and judges what they did.
// The violations are in the Result's Verdict. The error says what kept the run from
// its end; a Result beside it has the History alone. No process, port or file is
// left when it returns. It ends with ctx, or a few minutes after Duration.
func Run(ctx context.Context, cfg Config) (result *Result, err error) {
	limit := cfg.Duration + readyLimit + endLimit + 2*time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the run has not ended within %v", limit))
	defer cancel()
	r := &run{
		Config: cfg, loop: loop{ctx: ctx, end: cancel, todo: make(chan func())},
		armed: map[int][]Strike{}, alone: map[string]int{}, quiet: map[string]bool{}, count: map[Kind]int{},
	}
	if r.Show == nil {
		r.Show = func(time.Duration, string) {}
	}
	r.History.TTL, r.WaiterTTL, r.Late = cfg.TTL, cfg.TTL, 6*time.Second
	r.Restarted = cfg.Restarts > 0
	for i := range cfg.Entities {
		r.History.Entities = append(r.History.Entities, fmt.Sprintf("entity-%d", i+1))
	}
	dir, err := os.MkdirTemp("", "queuelock-chaos-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if r.engine, err = openEngine(ctx, cfg.Engine, r.Restarted, dir); err != nil {
		return nil, err
	}
	if err = r.open(); err == nil {
		err = r.play()
	}
	left := r.close(err == nil)
	if err = errors.Join(err, left); err != nil {
		return &Result{History: &r.History}, fmt.Errorf("seed %d: %w", cfg.Seed, err)
	}
	return newResult(r), nil
}

// open starts what a run needs beside the engine.
func (r *run) open() (err error) {
	if r.proxy, err = startProxy(r.engine.url(), r.Seed, r.Late, r.label); err != nil {
		return err
	}
	r.crew = crew.New(func() *exec.Cmd { return r.Command(r.proxy.url) })
	return queuelock.CreateTable(r.ctx, r.engine.db, tableName, queuelock.Config{})
}

// label is the entity that a request is about.
func (r *run) label(body []byte) string {
	for _, entity := range r.History.Entities {
		if strings.Contains(string(body), `"`+entity+`"`) {
			return entity
		}
	}
	return ""
}

// play is the run itself.
func (r *run) play() error {
	for number := range r.Workers {
		if err := r.hire(number); err != nil {
			return err
		}
	}
	if err := r.until(readyLimit, "all workers are ready", func() bool {
		return !slices.ContainsFunc(r.crew.Processes, func(p *crew.Process) bool { return !p.Ready })
	}); err != nil {
		return err
	}
	r.Began = turns.Now()
	finished := false
	if r.Restarted {
		r.outages(func() { finished = true })
	} else {
		r.strikes(func() { finished = true })
	}
	if err := r.until(r.Duration+time.Minute, "the time is over", func() bool { return finished }); err != nil {
		return err
	}
	r.Ended = turns.Now()
	r.show("the faults are over")
	if err := r.dismiss(); err != nil {
		return err
	}
	return r.drain(r.ctx)
}

// strikes does what the plan says for the duration.
func (r *run) strikes(finished func()) {
	r.proxy.setMix(calm)
	for _, s := range Plan(r.Seed, r.Duration, r.History.TTL, r.Workers, r.Config.Entities) {
		r.after(s.At, func() { r.strike(s) })
	}
	r.after(r.Duration, finished)
}

// dismiss has all workers end, once nothing is broken any more.
func (r *run) dismiss() error {
	r.ending = true
	r.proxy.setMix(nil)
	for _, entity := range r.History.Entities {
		r.spare(entity, false) // duplicates that waited come now
	}
	if err := r.until(engineLimit, "everything runs again", func() bool {
		return !r.down && !slices.ContainsFunc(r.crew.Processes, func(p *crew.Process) bool { return !p.Ended && !p.Free() })
	}); err != nil {
		return err
	}
	for _, p := range r.crew.Processes {
		if !p.Ended {
			_ = p.Signal(syscall.SIGTERM)
		}
	}
	return r.until(endLimit, "all workers have ended", func() bool {
		return !slices.ContainsFunc(r.crew.Processes, func(p *crew.Process) bool { return !p.Ended })
	})
}

// close takes everything down, and is an error if something is left. After an
// orderly end no worker may be there any more.
func (r *run) close(orderly bool) error {
	r.end()
	var errs []error
	if r.crew != nil {
		errs = append(errs, r.crew.Stop(orderly))
		r.Turns = r.crew.Turns()
	}
	r.helper.Wait()
	addresses := []string{r.engine.address()}
	if r.proxy != nil {
		r.proxy.close()
		_, r.Faults = r.proxy.met()
		addresses = append(addresses, strings.TrimPrefix(r.proxy.url, "http://"))
	}
	errs = append(errs, r.engine.close())
	for _, address := range addresses {
		if conn, err := net.Dial("tcp", address); err == nil {
			errs = append(errs, fmt.Errorf("a process still listens at %s", address), conn.Close())
		}
	}
	return errors.Join(errs...)
}

// hire starts a worker process.
func (r *run) hire(number int) error {
	started := len(r.crew.Processes) + 1
	name := fmt.Sprintf("worker-%d.%d", number+1, started)
	callers := 1
	if number >= r.Workers/2 {
		callers = r.Callers
	}
	_, err := r.crew.Start(number, name, r.WaiterTTL, worker.Assignment{
		Name: name, Table: tableName,
		Entities: r.History.Entities, Home: number % r.Config.Entities,
		Seed: r.Seed<<16 + uint64(started), TTL: r.History.TTL, WaiterTTL: r.WaiterTTL,
		LongestTurn: r.LongestTurn, Callers: callers, Mistake: r.Mistake,
	})
	return err
}
