package waiter

import (
	"log/slog"
	"time"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Config is what one acquire in one queue needs. It is not changed.
type Config struct {
	Queue    table.Queue
	Counter  *Counter // issues the tickets in the wider scopes; nil: the queue's record does
	Observer *lease.Observer
	Local    *localqueue.Queues
	Log      *slog.Logger

	Entry Entry
	Row   lease.Terms // of the row's lease

	Schedule waitpolicy.Schedule
	// NoWait gives up a busy lock at once, with ErrBusy.
	NoWait bool
	// RetryTimeout is how long a table that does not answer is tried, if the
	// waiter may wait.
	RetryTimeout time.Duration
	// Resume is what to go on with. Nil: take a number.
	Resume *Handle
	// Progress receives what has changed for a waiter that goes on to wait. It must
	// not block. Nil: nothing does.
	Progress func(Progress)
	// Placed receives the handle of each place in the queue. It must not block. The
	// row is put once the channel that it returns is closed; a Resume does not wait
	// for that. Nil: nothing receives handles.
	Placed func(Handle) <-chan struct{}
	// Background runs what need not be waited for; the client's Close does.
	Background func(func())
	// Slots is shared by the waiters for several locks, all of which are needed. A
	// waiter with a slot looks as often as one for a single lock, the others
	// seldom: their turn is of no use before that of the others. Nil: all look.
	Slots chan struct{}
}

// Entry is what the waiter writes of itself once it is served.
type Entry struct {
	Owner string
	Data  []byte
	Mode  serving.Mode
	Terms lease.Terms // of the lease; if FailClosed, until that is confirmed
}

// Counter issues the tickets of several queues.
type Counter struct {
	counter.Counter
	Scope serving.Scope // of those queues
}

// scope returns the scope that the queue's record must have.
func (c Config) scope() serving.Scope {
	if c.Counter == nil {
		return serving.ScopeQueue
	}
	return c.Counter.Scope
}

// quickRetryTimeout is how long a table that does not answer is tried for a caller
// that will not wait.
const quickRetryTimeout = 3 * time.Second

func (c Config) retryTimeout() time.Duration {
	if c.NoWait {
		return quickRetryTimeout
	}
	return c.RetryTimeout
}
