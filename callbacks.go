package queuelock

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
)

// callbackGrace is how long an Acquire that is over waits for a callback under
// way. A callback that blocks for longer must not keep a lock from its caller.
const callbackGrace = time.Second

// errCallback is the cause with which a callback that panicked ends a wait.
var errCallback = errors.New("a callback panicked")

// callbacks calls the functions that the caller of one Acquire has given, one at
// a time, in a goroutine that runs while there is something to call. So a function
// that blocks delays neither looks nor renewals.
type callbacks struct {
	client *Client
	cancel context.CancelCauseFunc // of the wait

	mu        sync.Mutex
	calls     []callback    // guarded by mu; those to come
	idle      chan struct{} // guarded by mu; closed when the goroutine ends, nil if none runs
	closed    bool          // guarded by mu; no call begins any more
	abandoned bool          // guarded by mu; Acquire has not waited for the one under way
	failed    bool          // guarded by mu; a function panicked, or ended its goroutine
	value     any           // guarded by mu; what it panicked with; nil: runtime.Goexit
}

// callback is one call. Of those that report something, only the last of each key
// is kept.
type callback struct {
	about Key // zero: it is always made
	f     func()
}

// callbacks returns what calls the functions of one Acquire, and ctx, which also
// ends with a panic of one of them. raise must be called in the end.
func (c *Client) callbacks(ctx context.Context) (context.Context, *callbacks) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &callbacks{client: c, cancel: cancel}
}

// call has f called soon, in place of a call about the same key that has not begun.
func (c *callbacks) call(about Key, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	for i := range c.calls {
		if about != (Key{}) && c.calls[i].about == about {
			c.calls[i].f = f
			return
		}
	}
	c.calls = append(c.calls, callback{about, f})
	if c.idle == nil {
		c.idle = make(chan struct{})
		c.client.background.run(c.run)
	}
}

func (c *callbacks) run() {
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
		c.cancel(errCallback)
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
func (c *callbacks) next() func() {
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

// close lets no call begin any more, and waits a little for the one under way. It
// reports whether a function has panicked: raise then does so too.
func (c *callbacks) close() (failed bool) {
	c.mu.Lock()
	c.closed = true
	idle, abandoned := c.idle, c.abandoned
	c.mu.Unlock()
	if idle != nil && !abandoned {
		patience := time.NewTimer(callbackGrace)
		defer patience.Stop()
		select {
		case <-idle:
		case <-patience.C:
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abandoned = c.idle != nil && !c.failed
	return c.failed
}

// raise ends the callbacks. What a function panicked with goes on in the caller's
// goroutine.
func (c *callbacks) raise() {
	failed := c.close()
	c.cancel(nil)
	if !failed {
		return
	}
	if c.value == nil {
		runtime.Goexit()
	}
	panic(c.value)
}
