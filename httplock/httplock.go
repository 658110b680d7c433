// Package httplock serves HTTP requests under locks: any number of processes serve the requests of one customer, or
// of any other key, one at a time and in the order of their tickets.
//
// # What it promises
//
// A handler runs while its request has the lock. Its context ends when the lock is lost, and when the request's
// own context does. The lock is released when the handler has returned, also after a panic, before the end of the
// response is sent. The release delays the response by at most Config.RequestTimeout of the client.
//
// # What it does not promise
//
// A handler that does not look at its context answers after a loss as before it: fence its writes with the lock of
// [FromContext]. A handler that acquires the key of its own request waits for itself. net/http notices a caller
// that has left only once the request's body was read; a request with a body keeps its place until the wait ends.
//
// # Refusals
//
//	| status | when                                       | Retry-After                              |
//	|--------|--------------------------------------------|------------------------------------------|
//	| 409    | the lock was busy for the whole wait       | the expected wait; 1 s if it is not known |
//	| 503    | the table did not answer, or Client.Close  | 1 s                                      |
//	| 500    | any other error, such as an invalid key    | none                                     |
package httplock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Config changes how requests are served. The zero value works.
type Config struct {
	// Options are those of each Acquire.
	Options []queuelock.AcquireOption
	// Refuse answers a request that was refused with the status above, because of the error of Acquire. The header
	// Retry-After is set. Nil writes the status and its text.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, err error)
	// OnError receives the errors of Acquire, also of a busy lock, and after the handler those of Release, which
	// match queuelock.ErrLost if the lock was lost. Nil drops them.
	OnError func(r *http.Request, err error)
}

// New returns middleware. key returns the lock that a request needs, or false if it needs none. A request waits
// for at most wait in the queue; zero refuses a busy lock at once. New panics if locks or key is nil, or wait negative:
// each request would fail.
func New(locks *queuelock.Client, key func(*http.Request) (queuelock.Key, bool), wait time.Duration,
	cfg Config) func(http.Handler) http.Handler {
	switch {
	case locks == nil:
		panic("httplock: New: the client is nil: queuelock.New makes one")
	case key == nil:
		panic("httplock: New: the function for the key is nil: return the lock that a request needs, or false")
	case wait < 0:
		panic(fmt.Sprintf("httplock: New: the wait %v is negative: zero refuses a busy lock at once", wait))
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			k, needed := key(r)
			if !needed {
				next.ServeHTTP(w, r)
				return
			}
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			served := false
			err := locks.Do(ctx, k, waitpolicy.For(wait), func(ctx context.Context, lock *queuelock.Lock) error {
				served = true
				defer cancel() // the release has RequestTimeout then, and not the rest of the lease
				next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, contextKey{}, lock)))
				return nil
			}, cfg.Options...)
			if err != nil && cfg.OnError != nil {
				cfg.OnError(r, err)
			}
			if !served {
				cfg.refuse(w, r, err)
			}
		})
	}
}

type contextKey struct{}

// FromContext returns the lock of the request with that context, or nil if it has none. With several middlewares
// it is that of the innermost.
func FromContext(ctx context.Context) *queuelock.Lock {
	lock, _ := ctx.Value(contextKey{}).(*queuelock.Lock)
	return lock
}

// refuse answers a request whose Acquire has failed.
func (c Config) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, wait := http.StatusInternalServerError, time.Duration(0)
	if busy, ok := errors.AsType[*queuelock.NotAcquiredError](err); ok {
		status, wait = http.StatusConflict, max(busy.EstimatedWait, time.Second)
	} else if errors.Is(err, queuelock.ErrUnavailable) || errors.Is(err, queuelock.ErrClosed) {
		status, wait = http.StatusServiceUnavailable, time.Second
	}
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.FormatFloat(math.Ceil(wait.Seconds()), 'f', 0, 64))
	}
	if c.Refuse == nil {
		http.Error(w, http.StatusText(status), status)
		return
	}
	c.Refuse(w, r, status, err)
}
