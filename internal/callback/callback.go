// Package callback calls the functions that the caller of an Acquire has passed.
//
// A [Caller] makes one call at a time, in a goroutine of its own, so a function that blocks delays neither looks nor
// renewals. A panic of a function ends the context of the wait and continues in the goroutine of Acquire.
package callback

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"
)

// grace is how long Close waits for the call under way. A function that blocks for longer must not keep a lock from
// its caller.
const grace = time.Second

// ErrFailed is the cause with which a function that panicked ends the context.
var ErrFailed = errors.New("a callback panicked")

// Caller calls the functions of one Acquire. A nil Caller is of an Acquire without.
type Caller struct {
	run    func(func())            // starts a goroutine
	cancel context.CancelCauseFunc // of the wait

	mu        sync.Mutex    // guards the fields below
	calls     []call        // not yet begun
	idle      chan struct{} // closed when the goroutine ends, nil if none runs
	closed    bool          // no call begins any more
	abandoned bool          // Acquire has not waited for the call under way
	failed    bool          // a function panicked, or ended its goroutine
	value     any           // of the panic; nil: runtime.Goexit
}

// call is one call. Of the calls about one thing, only the last is kept.
type call struct {
	about any // comparable; nil: it is always made
	f     func()
}

// New returns a Caller. cancel ends the context of the wait, when a function panics. run starts a goroutine. Raise must
// be called in the end.
func New(cancel context.CancelCauseFunc, run func(func())) *Caller {
	return &Caller{run: run, cancel: cancel}
}

// Call calls f soon, in place of a call about the same thing that has not begun. A call about nil replaces none.
func (c *Caller) Call(about any, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if i := slices.IndexFunc(c.calls, func(o call) bool { return about != nil && o.about == about }); i >= 0 {
		c.calls[i].f = f
		return
	}
	c.calls = append(c.calls, call{about, f})
	if c.idle == nil {
		c.idle = make(chan struct{})
		c.run(c.loop)
	}
}

func (c *Caller) loop() {
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover() // nil: runtime.Goexit
		c.mu.Lock()
		abandoned := c.abandoned
		c.closed, c.failed, c.value = true, true, value
		close(c.idle)
		c.mu.Unlock()
		c.cancel(ErrFailed)
		if abandoned && value != nil {
			panic(value) // its Acquire has returned
		}
	}()
	for f := c.next(); f != nil; f = c.next() {
		f()
	}
	returned = true
}

// next returns the next call, or ends the goroutine if there is none.
func (c *Caller) next() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.calls) == 0 {
		close(c.idle)
		c.idle = nil
		return nil
	}
	f := c.calls[0].f
	c.calls = c.calls[1:]
	return f
}

// Close ends the calls, and waits up to a second for the one under way. It reports whether a function has panicked.
func (c *Caller) Close() (failed bool) {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if idle := c.idle; idle != nil && !c.abandoned {
		c.mu.Unlock()
		select {
		case <-idle:
		case <-time.After(grace):
		}
		c.mu.Lock()
	}
	c.abandoned = c.idle != nil && !c.failed
	return c.failed
}

// Raise closes the Caller. The panic of a function continues in the goroutine of the caller of Raise.
func (c *Caller) Raise() {
	if c == nil {
		return
	}
	failed := c.Close()
	c.cancel(nil)
	if failed && c.value == nil {
		runtime.Goexit()
	} else if failed {
		panic(c.value)
	}
}
