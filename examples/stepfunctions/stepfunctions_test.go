package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

// TestDefinition checks the state machine, and that its times fit those of the functions.
func TestDefinition(t *testing.T) {
	m := loadMachine(t)
	reached := map[string]bool{}
	for open := []string{m.StartAt}; len(open) > 0; open = open[1:] {
		name := open[0]
		s, exists := m.States[name]
		if !exists {
			t.Errorf("there is no state %q", name)
		}
		if !reached[name] {
			reached[name] = true
			open = append(open, s.nexts()...)
		}
	}
	for name, s := range m.States {
		if !reached[name] {
			t.Errorf("%s is never reached", name)
		}
		if ends := s.Type == "Succeed" || s.Type == "Fail"; ends != (len(s.nexts()) == 0) {
			t.Errorf("%s of type %s leads to %q", name, s.Type, s.nexts())
		}
		if s.Type == "Task" && (*lambda)(nil).tasks()[s.Resource] == nil {
			t.Errorf("%s calls %s, which is no function", name, s.Resource)
		}
		if s.Type == "Task" && s.TimeoutSeconds != int(timeout.Seconds()) {
			t.Errorf("%s takes up to %d s, its function %v", name, s.TimeoutSeconds, timeout)
		}
	}
	if got := time.Duration(m.States["Pause"].Seconds) * time.Second; got != pause {
		t.Errorf("Pause takes %v, the functions say %v", got, pause)
	}
	if held := 2 * timeout; ttl <= held {
		t.Errorf("the states with the lock take up to %v, the lease %v", held, ttl)
	}
}

// lambda runs each invocation in a process of its own.
type lambda struct {
	t       *testing.T
	table   *queuelocktest.Table
	work    func(ctx context.Context, order string, token ticket.Number) (json.RawMessage, error)
	started atomic.Int64
	working atomic.Int64
	latest  atomic.Pointer[queuelocktest.Client] // of the process that was started last
	dies    atomic.Bool                          // the next slice dies after 5 s
}

// instance starts a process. Lambda closes none: here they are closed at the end, when others have released their
// locks.
func (l *lambda) instance() *Functions {
	name := fmt.Sprint("instance-", l.started.Add(1))
	net := l.table.Client(name)
	l.latest.Store(net)
	locks, err := queuelock.New(net, l.table.Name(), queuelock.Config{Owner: name})
	if err != nil {
		l.t.Error(err)
	}
	l.t.Cleanup(func() { _ = locks.Close(context.Background()) })
	return New(locks, func(ctx context.Context, order string, token ticket.Number) (json.RawMessage, error) {
		if l.working.Add(1) > 1 {
			l.t.Errorf("two work on %s at once", order)
		}
		defer l.working.Add(-1)
		return l.work(ctx, order, token)
	})
}

// tasks are the functions by their names in the state machine.
func (l *lambda) tasks() map[string]task {
	return map[string]task{
		"${WaitFunctionArn}": func(ctx context.Context, input []byte) ([]byte, error) {
			functions := l.instance()
			if l.dies.Swap(false) {
				net := l.latest.Load()
				go func() { _, _ = serve(ctx, input, functions.Wait) }()
				<-time.After(5 * time.Second)
				net.Partition()
				return nil, errors.New("signal: killed")
			}
			return serve(ctx, input, functions.Wait)
		},
		"${WorkFunctionArn}": func(ctx context.Context, input []byte) ([]byte, error) {
			return serve(ctx, input, l.instance().Work)
		},
		"${ReleaseFunctionArn}": func(ctx context.Context, input []byte) ([]byte, error) {
			return serve(ctx, input, func(ctx context.Context, in Input) (any, error) {
				return nil, l.instance().Release(ctx, in)
			})
		},
	}
}

// serve calls a handler with JSON, as Lambda does.
func serve[T any](ctx context.Context, input []byte, handler func(context.Context, Input) (T, error)) ([]byte, error) {
	var in Input
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, err
	}
	out, err := handler(ctx, in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// run is an execution under way.
type run struct {
	states  map[string]int // how often each state was entered; to be read when done
	entered map[string]chan struct{}
	data    document // likewise
	done    chan error
	abort   context.CancelFunc
}

// start starts an execution for order-7. Its input has a name, too.
func (l *lambda) start(name string) *run {
	ctx, cancel := context.WithCancel(l.t.Context())
	r := &run{states: map[string]int{}, entered: map[string]chan struct{}{}, done: make(chan error, 1), abort: cancel}
	m := loadMachine(l.t)
	for state := range m.States {
		r.entered[state] = make(chan struct{})
	}
	entered := func(state string) {
		if r.states[state]++; r.states[state] == 1 {
			close(r.entered[state])
		}
	}
	data := document{"order": "order-7", "name": name}
	e := &execution{machine: m, tasks: l.tasks(), data: data, entered: entered}
	go func() {
		err := e.run(ctx)
		r.data = e.data
		r.done <- err
	}()
	return r
}

// idle checks that no execution holds the lock or waits for it.
func (l *lambda) idle() {
	l.t.Helper()
	state, err := l.instance().locks.Viewer().Inspect(l.t.Context(), queuelock.Key{Entity: "order-7"})
	if err != nil {
		l.t.Fatal(err)
	}
	if !state.Idle() {
		l.t.Errorf("left behind: %+v", state)
	}
}

func TestExecutions(t *testing.T) {
	play := func(name string, f func(t *testing.T, l *lambda)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lambda{t: t, table: queuelocktest.NewTable(t, queuelocktest.WithLatency(5*time.Millisecond))}
				l.work = func(context.Context, string, ticket.Number) (json.RawMessage, error) {
					<-time.After(50 * time.Second)
					return json.RawMessage(`"shipped"`), nil
				}
				f(t, l)
			})
		})
	}
	play("OneAfterTheOtherInOrder", func(t *testing.T, l *lambda) {
		var tokens []ticket.Number
		work := l.work
		l.work = func(ctx context.Context, order string, token ticket.Number) (json.RawMessage, error) {
			tokens = append(tokens, token)
			return work(ctx, order, token)
		}
		var runs []*run
		for i := range 5 {
			runs = append(runs, l.start(fmt.Sprint("execution-", i)))
			<-time.After(time.Second)
		}
		begun := time.Now()
		for i, r := range runs {
			if err := <-r.done; err != nil {
				t.Fatal(i, err)
			}
			if r.data["result"] != "shipped" || r.data["name"] != fmt.Sprint("execution-", i) {
				t.Errorf("execution %d ends with %v", i, r.data)
			}
			if slices := r.states["Queue"]; i == 4 && slices < 3 {
				t.Errorf("the last one has waited in %d slices", slices)
			}
			for _, later := range runs[i+1:] {
				if len(later.done) > 0 {
					t.Errorf("execution %d was overtaken", i)
				}
			}
		}
		if !slices.IsSortedFunc(tokens, ticket.Number.Compare) || len(tokens) != 5 {
			t.Errorf("the tokens are %v", tokens)
		}
		if took := time.Since(begun); took > 5*(50*time.Second+pause+time.Second) {
			t.Errorf("five turns took %v", took)
		}
		l.idle()
	})
	play("FailedWorkReleases", func(t *testing.T, l *lambda) {
		l.work = func(context.Context, string, ticket.Number) (json.RawMessage, error) {
			return nil, errors.New("no address")
		}
		r := l.start("execution")
		if err, ok := errors.AsType[*failure](<-r.done); !ok || err.cause != "no address" {
			t.Errorf("the execution ends with %v", err)
		}
		l.idle()
	})
	play("AbortedWaitIsPassed", func(t *testing.T, l *lambda) {
		first := l.start("first")
		<-first.entered["Work"]
		aborted := l.start("aborted")
		<-aborted.entered["Pause"]
		aborted.abort()
		left := time.Now()
		next := l.start("next")
		<-next.entered["Work"]
		if waited := time.Since(left); waited < keep-time.Second || waited > keep+pause+2*time.Second {
			t.Errorf("the next one works after %v, the place was kept for %v", waited, keep)
		}
		if err := errors.Join(<-first.done, <-next.done); err != nil {
			t.Error(err)
		}
		l.idle()
	})
	play("AbortedWorkEndsWithItsLease", func(t *testing.T, l *lambda) {
		aborted := l.start("aborted")
		<-aborted.entered["Work"]
		granted := time.Now()
		aborted.abort()
		next := l.start("next")
		<-next.entered["Work"]
		if waited := time.Since(granted); waited < ttl-time.Second || waited > ttl+pause+2*time.Second {
			t.Errorf("the next one works after %v, the lease is %v", waited, ttl)
		}
		if err := <-next.done; err != nil {
			t.Error(err)
		}
		l.idle()
	})
	play("OutageOfASliceKeepsThePlace", func(t *testing.T, l *lambda) {
		first := l.start("first")
		<-first.entered["Work"]
		synctest.Wait()
		second := l.start("second")
		<-time.After(5 * time.Second)
		l.latest.Load().Partition()
		third := l.start("third")
		if err := errors.Join(<-first.done, <-second.done, <-third.done); err != nil {
			t.Error(err)
		}
		if ticket := lookUp(second.data, "$.handle.ticket"); ticket != "2" {
			t.Errorf("the second has ticket %v", ticket)
		}
		l.idle()
	})
	play("KilledSliceQueuesAgain", func(t *testing.T, l *lambda) {
		first := l.start("first")
		<-first.entered["Work"]
		l.dies.Store(true)
		second := l.start("second")
		if err := errors.Join(<-first.done, <-second.done); err != nil {
			t.Error(err)
		}
		if ticket := lookUp(second.data, "$.handle.ticket"); ticket != "3" {
			t.Errorf("the second has ticket %v", ticket)
		}
		l.idle()
	})
}
