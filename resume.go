package queuelock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/queuelock/queuelock/internal/callback"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Handle names a lock that is held, or a place in a queue, for Client.Resume. Save
// it where the process finds it after a restart; it can be encoded as JSON.
type Handle struct {
	Key    Key
	Ticket ticket.Number
	// ID is that of the Acquire, 26 letters and digits. Whoever has it can take
	// the lock over.
	ID string
	// Shared and Permits are those of the Acquire: whether it had the option
	// Shared, and the number of Permits; zero: none.
	Shared  bool `json:",omitempty"`
	Permits int  `json:",omitempty"`
}

// Handle names the lock for Client.Resume. It makes no request.
func (l *Lock) Handle() Handle {
	return newHandle(l.key, l.session.Mode(), waiter.Grant{ID: l.session.ID(), Ticket: l.Ticket()}.Handle())
}

func newHandle(key Key, mode serving.Mode, h waiter.Handle) Handle {
	return Handle{Key: key.normal(), Ticket: h.Ticket, ID: h.ID, Shared: mode.Shared, Permits: mode.Permits}
}

// Resume goes on where a process that has ended left off: it returns the lock
// that the handle names, with its ticket, if it is still in the serving record,
// and waits on in its place if its ticket can still be granted. Else it returns
// an error that matches ErrGone: the lock was released, or its lease has ended and
// somebody evicted it, or the place was lost. It then takes no new place: Acquire
// does.
//
// The process that saved the handle must have ended. One that has not is not told
// at once: its protected writes (Lock.Condition, Lock.Transact) are refused from
// then on, and its next heartbeat learns of the loss, as after an eviction. Of
// several that resume one handle, one does, and the others get ErrGone. The
// handle is worth nothing after that; save the new lock's.
//
// A lock that fails closed (FailClosed) is not resumed: an operator must look.
//
// A lock that is in its LockDelay is resumed too: the delay is for others. It keeps
// that delay, unless LockDelay gives a longer one.
//
// The options are those of Acquire, given anew, without FailClosed. Shared and
// Permits need not be given: the handle has them, and one that differs is an
// error, with nothing sent. A lock that was downgraded is resumed as shared, by
// a handle of before as well; Lock.Shared tells. Data of the holder is kept
// unless WithData gives other. The rest is as for Acquire: the wait, the errors,
// and that nothing of the attempt is left when it fails. So one that gives up,
// after a request to take the lock over that got no answer, gives the lock back.
// With a lock delay it does not: requests of the former holder may be on their
// way. The lock is left to its lease and its delay.
//
// Requests: a look, and one to take the lock over; or one for the row, and those of
// waiting.
func (c *Client) Resume(ctx context.Context, h Handle, wait waitpolicy.Wait, opts ...Option) (*Lock, error) {
	if h.ID == "" || h.Ticket.IsZero() {
		return nil, errors.New("queuelock: Resume: the handle is empty: save that of Lock.Handle, or of OnHandle")
	}
	mode := serving.Mode{Shared: h.Shared, Permits: h.Permits}
	if given := c.cfg.with(opts).mode; given != (serving.Mode{}) && given != mode {
		// A lock that shares, or a permit, is of no use to one who takes it for
		// another, and an exclusive lock is not made a shared one by a request for it.
		return nil, fmt.Errorf("queuelock: Resume: %s is given, and the handle is of an Acquire with %s: leave it out, the handle has it", modeOptions(given), modeOptions(mode))
	}
	opts = append(slices.Clip(opts), func(o *options) { o.mode = mode })
	return c.acquire(ctx, h.Key, wait, &waiter.Handle{ID: h.ID, Ticket: h.Ticket}, opts)
}

// modeOptions names the options that ask for the mode.
func modeOptions(m serving.Mode) string {
	switch {
	case m.Shared && m.Permits != 0:
		return "Shared and Permits"
	case m.Shared:
		return "Shared"
	case m.Permits != 0:
		return fmt.Sprintf("Permits(%d)", max(0, m.Permits))
	}
	return "neither Shared nor Permits"
}

// placed returns the receiver of a waiter's handles, which calls f; nil if f is.
func placed(calls *callback.Caller, f func(Handle), key Key, mode serving.Mode) func(waiter.Handle) <-chan struct{} {
	if f == nil {
		return nil
	}
	return func(h waiter.Handle) <-chan struct{} {
		returned := make(chan struct{})
		calls.Call(nil, func() { f(newHandle(key, mode, h)); close(returned) })
		return returned
	}
}
