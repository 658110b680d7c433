package waiter

import (
	"log/slog"
	"time"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Config is what one acquire in one queue needs. It is not changed.
type Config struct {
	Queue    table.Queue
	Counter  *Counter // issues the tickets in the wider scopes; nil: the queue's record issues them
	Observer *lease.Observer
	Local    *localqueue.Queues
	Log      *slog.Logger

	Entry Entry
	Row   lease.Terms // of the row's lease

	Schedule waitpolicy.Schedule
	NoWait   bool // give up a busy lock at once, with ErrBusy
	// RetryTimeout limits the attempts at a table that does not answer. NoWait has a
	// limit of its own.
	RetryTimeout time.Duration
	Resume       *Handle // of what is continued; nil: take a number
	// Progress receives changes while the waiter waits. It must not block. Optional.
	Progress func(Progress)
	// Placed receives the handle of each place in the queue. It must not block. The row
	// is put once the returned channel is closed; a Resume does not wait for it. Optional.
	Placed func(Handle) <-chan struct{}
	// Background runs what only the client's Close waits for.
	Background func(func())
	// Slots is shared by the waiters for several locks, all of which are needed. A waiter
	// without a slot seldom looks, since its turn is of no use before that of the others.
	// Nil: all look.
	Slots chan struct{}
}

// Entry is what the waiter writes into its entry.
type Entry struct {
	Owner string
	Data  []byte
	Mode  serving.Mode
	Terms lease.Terms // with FailClosed, until the grant is confirmed
}

// Counter issues the tickets of several queues.
type Counter struct {
	counter.Counter
	Scope ticket.Scope // of those queues
}

// fits returns a *serving.MismatchError if the record is of another kind of queue.
func (c Config) fits(rec serving.Record, mode serving.Mode) error {
	scope := ticket.ScopeQueue
	if c.Counter != nil {
		scope = c.Counter.Scope
	}
	return rec.Fits(scope, mode)
}

// quickRetryTimeout is the RetryTimeout of a caller that will not wait.
const quickRetryTimeout = 3 * time.Second
