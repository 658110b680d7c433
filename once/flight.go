package once

import (
	"context"
	"errors"
	"sync"

	"github.com/queuelock/queuelock"
)

// flights are the calls under way in this process.
var flights = struct {
	mu  sync.Mutex
	all map[flightKey]*flight // guarded by mu; those that another caller may join
}{all: map[flightKey]*flight{}}

type flightKey struct {
	locks *queuelock.Client
	key   queuelock.Key
}

// flight is what callers of one key share.
type flight struct {
	key     flightKey
	callers int // guarded by flights.mu
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when the rest is set

	value    []byte
	err      error
	panicked any // the value of a panic; nil: none
}

// join joins the flight of a key, or begins one, with the values of ctx.
func join(ctx context.Context, key flightKey,
	compute func(ctx context.Context, failed func()) ([]byte, error)) *flight {
	flights.mu.Lock()
	defer flights.mu.Unlock()
	f := flights.all[key]
	if f == nil {
		f = &flight{key: key, done: make(chan struct{})}
		flights.all[key] = f
		ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
		go f.run(ctx, compute)
	}
	f.callers++
	return f
}

// leave removes a caller. It reports whether that was the last one: the flight then ends, and no caller joins it.
func (f *flight) leave(cause error) (last bool) {
	flights.mu.Lock()
	defer flights.mu.Unlock()
	if f.callers--; f.callers > 0 {
		return false
	}
	f.landed()
	f.cancel(cause)
	return true
}

// land lets no caller join any more.
func (f *flight) land() {
	flights.mu.Lock()
	defer flights.mu.Unlock()
	f.landed()
}

// landed is land with flights.mu held.
func (f *flight) landed() {
	if flights.all[f.key] == f {
		delete(flights.all, f.key)
	}
}

func (f *flight) run(ctx context.Context, compute func(ctx context.Context, failed func()) ([]byte, error)) {
	returned := false
	defer func() {
		if !returned {
			f.err = errors.New("once: the function has ended its goroutine")
			f.panicked = recover()
		}
		f.land()
		f.cancel(nil)
		close(f.done)
	}()
	f.value, f.err = compute(ctx, f.land)
	returned = true
}

// result returns what a flight has come to. Each caller gets its own bytes. At least one caller waits for it, so no
// panic is lost.
func (f *flight) result() ([]byte, error) {
	switch {
	case f.panicked != nil:
		panic(f.panicked)
	case f.err != nil:
		return nil, f.err
	}
	return append([]byte{}, f.value...), nil
}
