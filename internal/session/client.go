package session

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Client is what the sessions of one client share, and the list of those that Close
// releases. All exported fields are required.
type Client struct {
	Closed     context.Context // ends when the client is closed
	Timeout    time.Duration   // of a request: how long a release outlives its caller
	Log        *slog.Logger
	Local      *localqueue.Queues
	Background func(func()) // runs what the client's Close waits for
	// Released is the reason of a session that was released, and Lost makes the one of
	// a session that was lost. Unknown makes the error of an outcome that is not known:
	// of the last request's error, of the caller's context if it has ended, and of the
	// reason if the session has ended. They are the errors that users match.
	Released error
	Lost     func(q table.Queue, t ticket.Number, loss *heartbeat.LossError) error
	Unknown  func(q table.Queue, err, ctx, end error) error

	mu       sync.Mutex
	sessions map[*Session]struct{} // guarded by mu; held, or released in vain
}

// Sessions returns the sessions that are held, or that Release could not release, in
// the order of their queues and tickets.
func (c *Client) Sessions() []*Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*Session
	for s := range c.sessions {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Session) int {
		return cmp.Or(cmp.Compare(a.config.Queue.String(), b.config.Queue.String()), a.grant.Ticket.Compare(b.grant.Ticket))
	})
	return all
}

func (c *Client) remember(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions == nil {
		c.sessions = map[*Session]struct{}{}
	}
	c.sessions[s] = struct{}{}
}

func (c *Client) forget(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, s)
}

// Reset sends RESET of the protocol: the next Acquire of an idle queue is one request
// again. granted is a ticket that was granted to this client. Nothing depends on it.
func (c *Client) Reset(ctx context.Context, q table.Queue, granted ticket.Number) {
	if _, err := serving.Reset(ctx, q, granted); err != nil && !errors.Is(err, serving.ErrRefused) {
		c.Log.Debug("queuelock: an idle queue was not put back on the short path", "queue", q.String(), "error", err)
	}
}
