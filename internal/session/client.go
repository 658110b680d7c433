package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Client is shared by the sessions of one client, and lists those that Close releases. All
// exported fields are required.
type Client struct {
	Closed     context.Context // ends when the client is closed
	Timeout    time.Duration   // of a request: how long a release outlives its caller
	Log        *slog.Logger
	Local      *handover.Lines
	Background func(func()) // runs what the client's Close waits for
	// Users match these errors: the reason of a session that was released, or was lost, and the
	// error of an outcome that is not known. It is made of the last request's error, that of the
	// caller's context if it has ended, and the reason if the session has ended.
	Released error
	Lost     func(q table.Queue, t ticket.Number, loss *heartbeat.LossError) error
	Unknown  func(q table.Queue, err, ctx, end error) error

	mu       sync.Mutex
	sessions map[string]*Session // guarded by mu, by the holder's id; those that are held, or not yet released
	renewals chan struct{}       // guarded by mu, see renewing; an element for each heartbeat under way
}

// listHeld lists a session unless it was lost already: step has unlisted it, or will.
func (c *Client) listHeld(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.current().Phase.Held() {
		c.add(s)
	}
}

// list lists a session in any phase.
func (c *Client) list(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(s)
}

// add lists a session. c.mu is held.
func (c *Client) add(s *Session) {
	if c.sessions == nil {
		c.sessions = map[string]*Session{}
	}
	c.sessions[s.grant.ID] = s
}

// renewing returns the channel that limits the heartbeats under way.
func (c *Client) renewing() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.renewals == nil {
		c.renewals = make(chan struct{}, maxRenewals)
	}
	return c.renewals
}

func (c *Client) unlist(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, id)
}

// held returns the number of Sessions.
func (c *Client) held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sessions)
}

// Sessions returns the sessions that are held or not yet released, by queue and ticket.
func (c *Client) Sessions() []*Session {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.sessions))
	c.mu.Unlock()
	slices.SortFunc(all, func(a, b *Session) int {
		return cmp.Or(cmp.Compare(a.config.Queue.String(), b.config.Queue.String()), a.grant.Ticket.Compare(b.grant.Ticket))
	})
	return all
}

// Holds reports whether a lock with that id is held.
func (c *Client) Holds(id string) bool {
	c.mu.Lock()
	s := c.sessions[id]
	c.mu.Unlock()
	return s != nil && s.current().Phase == queue.PhaseHeld
}

// Ticket returns the ticket of the lock with that id; zero: it is not held.
func (c *Client) Ticket(id string) (t ticket.Number) {
	c.mu.Lock()
	s := c.sessions[id]
	c.mu.Unlock()
	if s != nil && s.current().Phase == queue.PhaseHeld {
		t = s.grant.Ticket
	}
	return t
}

// Reset sends RESET of the protocol, after which the next Acquire of an idle queue is one
// request. granted is a ticket that was granted to this client. A failure does no harm.
func (c *Client) Reset(ctx context.Context, q table.Queue, granted ticket.Number) {
	if _, err := serving.Reset(ctx, q, granted); err != nil && !errors.Is(err, serving.ErrRefused) {
		c.Log.Debug("queuelock: an idle queue was not put back on the short path", "queue", q.String(), "error", err)
	}
}

// UnreleasedError reports that a lock without a lease may still be in the table.
type UnreleasedError struct {
	Queue  table.Queue
	Ticket ticket.Number
	Err    error
	Loss   error // the reason if the lock was lost; else nil
}

func (e *UnreleasedError) Error() string {
	return fmt.Sprintf("ticket %s may still be in the table: %v", e.Ticket, e.Err)
}

func (e *UnreleasedError) Unwrap() []error {
	if e.Loss == nil {
		return []error{e.Err}
	}
	return []error{e.Loss, e.Err}
}

// ConditionError reports that the condition of an UpdateAndRelease was false. Nothing was
// written.
type ConditionError struct {
	Current clause.Item // without the lock's attributes
}

func (e *ConditionError) Error() string { return "the update's condition was false" }

// errOverwritten reports that the marks of a record prove nothing about the lock.
var errOverwritten = errors.New("the lock is not in its record, and the mark that says how it ended was replaced, or is gone with the record")
