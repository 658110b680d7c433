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

// Client is shared by the sessions of one client, and lists those that Close releases. All
// exported fields are required.
type Client struct {
	Closed     context.Context // ends when the client is closed
	Timeout    time.Duration   // of a request: how long a release outlives its caller
	Log        *slog.Logger
	Local      *localqueue.Queues
	Background func(func()) // runs what the client's Close waits for
	// Released is the reason of a session that was released, and Lost returns the reason of
	// a session that was lost. Unknown returns the error of an outcome that is not known,
	// from the last request's error, the error of the caller's context if it has ended, and
	// the reason if the session has ended. Users match these errors.
	Released error
	Lost     func(q table.Queue, t ticket.Number, loss *heartbeat.LossError) error
	Unknown  func(q table.Queue, err, ctx, end error) error

	mu       sync.Mutex
	sessions map[*Session]struct{} // guarded by mu; held, or not yet released
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

// Reset sends RESET of the protocol, after which the next Acquire of an idle queue is one
// request. granted is a ticket that was granted to this client. A failure does no harm.
func (c *Client) Reset(ctx context.Context, q table.Queue, granted ticket.Number) {
	if _, err := serving.Reset(ctx, q, granted); err != nil && !errors.Is(err, serving.ErrRefused) {
		c.Log.Debug("queuelock: an idle queue was not put back on the short path", "queue", q.String(), "error", err)
	}
}
