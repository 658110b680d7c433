package queuelock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Handle names a lock that is held, or a place in a queue, for Client.Resume. Its JSON keeps its names,
// so that a later version can resume it.
type Handle struct {
	Key    Key           `json:"key"`
	Ticket ticket.Number `json:"ticket"`
	// ID is that of the Acquire, 26 letters and digits. Any process that has it can take the lock over.
	ID string `json:"id"`
	// Shared and Permits are the options of the Acquire.
	Shared  bool `json:"shared,omitempty"`
	Permits int  `json:"permits,omitempty"`
	// Held says that it is of a lock, which is resumed as long as it is held.
	Held bool `json:"held,omitempty"`
	// From are the IDs before, separated by commas, of a Resume whose first request may not have been applied.
	From string `json:"from,omitempty"`
	// Since is when the wait for a place began, for display, in milliseconds since 1970.
	Since int64 `json:"since,omitempty"`
}

// Handle returns the name of the lock for Client.Resume. It makes no request.
func (l *Lock) Handle() Handle {
	return newHandle(l.Key(), l.turn.Mode(), l.turn.Handle())
}

func newHandle(key Key, mode queue.Mode, h queue.Handle) Handle {
	return Handle{
		Key: key, Ticket: h.Ticket, ID: h.ID, Shared: mode.Shared, Permits: mode.Permits, Held: h.Held, From: h.From,
		Since: h.Since,
	}
}

func (h Handle) check(call string) error {
	if h.ID == "" || h.Ticket.IsZero() {
		return fmt.Errorf("queuelock: %s: the handle is empty: save that of Lock.Handle, OnHandle or NotAcquiredError", call)
	}
	return nil
}

func (h Handle) named() queue.Handle {
	return queue.Handle{ID: h.ID, Ticket: h.Ticket, Held: h.Held, From: h.From, Since: h.Since}
}

// Resume continues where a process that has ended left off: it returns the lock of the handle with its ticket
// if it is still in the record, or waits on in its place. That process must have ended. If it still runs, its
// protected writes are refused at once, and its next heartbeat reports the loss. One of several Resumes
// succeeds and makes the handle invalid: save the new lock's. The client needs the Scope of that process.
//
// Options are those of Acquire, without FailClosed. The handle has Shared and Permits. The data stays unless
// WithData is given, and the lock delay unless a longer one is. Returns Acquire's errors, and [ErrGone] if the
// lock or the place has ended. A failed Resume gives the lock back, or leaves it to its lease.
func (c *Client) Resume(ctx context.Context, h Handle, wait waitpolicy.Wait, opts ...AcquireOption) (*Lock, error) {
	if err := h.check("Resume"); err != nil {
		return nil, err
	}
	mode := queue.Mode{Shared: h.Shared, Permits: h.Permits}
	if given := with(c, opts).mode; given != (queue.Mode{}) && given != mode {
		return nil, fmt.Errorf("queuelock: Resume: %s is given, and the handle is of an Acquire with %s: leave it out, "+
			"the handle has it", modeOptions(given), modeOptions(mode))
	}
	return c.Acquire(ctx, h.Key, wait, append(slices.Clip(opts), option(func(s *settings) {
		s.mode = mode
		named := h.named()
		s.resume = &named
	}))...)
}

// Leave gives up the place of a handle, or releases its lock if it was granted meanwhile. It may be repeated. Returns
// nil if the place has ended before, [ErrGone] if the lock of a handle that is Held has, and Resume's other errors.
func (c *Client) Leave(ctx context.Context, h Handle) error {
	if err := h.check("Leave"); err != nil {
		return err
	}
	place := !h.Held
	if place {
		ctx, q, end, err := c.enter(ctx, h.Key)
		if err != nil {
			return err
		}
		defer end()
		err = table.Retryable.Within(minRetryTimeout).Do(ctx, func(ctx context.Context) error {
			_, _, err := requests.SendRow(ctx, q, h.Ticket, queue.Quit(h.named()))
			return err
		})
		if err != nil {
			return fmt.Errorf("queuelock: leave %s: %w", h.Key, err)
		}
	}
	h.Held = true // a place that is left is not put again
	lock, err := c.Resume(ctx, h, waitpolicy.NoWait)
	switch {
	case err == nil:
		return lock.Release(ctx)
	case place && errors.Is(err, ErrGone):
		return nil
	}
	return err
}

// modeOptions names the options of the mode.
func modeOptions(m queue.Mode) string {
	switch {
	case m.Shared && m.Permits != 0:
		return "Shared and Permits"
	case m.Shared:
		return "Shared"
	case m.Permits != 0:
		return permitsOption(m)
	}
	return "neither Shared nor Permits"
}
