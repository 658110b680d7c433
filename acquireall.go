package queuelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/queuelock/queuelock/internal/callback"
	"github.com/queuelock/queuelock/internal/multilock"
	"github.com/queuelock/queuelock/internal/session"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/waitpolicy"
)

// AcquireAll acquires several locks, all or none. A repeated key is one lock. wait and ctx bound the whole,
// and opts, without OnHandle, apply to each lock. If a key cannot be acquired, the error is the one that
// Acquire returns for it.
//
// With a wider Config.Scope all locks have one ticket. AcquireAll waits in all queues at the same time; if
// it is overtaken or loses a lock, it gives all back and begins again. So calls never deadlock with each
// other. With ScopeEntity the keys must be of one entity.
//
// With ScopeQueue, the default, it acquires the locks one after another in the order of keys. A process
// that holds locks, and asks for more by another call, can deadlock.
func (c *Client) AcquireAll(ctx context.Context, keys []Key, wait waitpolicy.Wait, opts ...Option) (*Locks, error) {
	s, err := c.prepareAll(keys, wait, opts)
	if err != nil {
		return nil, err
	}
	return attempt(ctx, c, s.cfg, wait, s.try)
}

// several is one AcquireAll.
type several struct {
	client *Client
	cfg    settings
	given  []Key         // as they were given, each once
	queues []table.Queue // in the order in which they are entered
}

func (c *Client) prepareAll(keys []Key, wait waitpolicy.Wait, opts []Option) (*several, error) {
	if len(keys) == 0 {
		return nil, errors.New("queuelock: AcquireAll: there are no keys: name what is to be locked")
	}
	s := &several{client: c}
	for i, key := range keys {
		cfg, q, err := c.prepare(key, wait, opts)
		switch {
		case err != nil:
			return nil, err
		case cfg.placed != nil:
			return nil, errors.New("queuelock: AcquireAll: OnHandle is for Acquire: a wait for several locks cannot be resumed")
		case c.cfg.Scope == ScopeEntity && key.Entity != keys[0].Entity:
			return nil, fmt.Errorf("queuelock: AcquireAll: the keys are of the entities %q and %q, "+
				"which have no common ticket with ScopeEntity: use ScopeTable", keys[0].Entity, key.Entity)
		}
		if i == 0 {
			s.cfg = cfg
		}
		if key = keyOf(q); !slices.Contains(s.given, key) {
			s.given = append(s.given, key)
			s.queues = append(s.queues, q)
		}
	}
	slices.SortFunc(s.queues, func(a, b table.Queue) int {
		return cmp.Or(cmp.Compare(a.Entity, b.Entity), cmp.Compare(a.Reason, b.Reason))
	})
	return s, nil
}

// try makes one attempt. tried reports whether a request was made.
func (s *several) try(ctx context.Context, calls *callback.Caller, wait waitpolicy.Wait) (_ *Locks, tried bool, _ error) {
	config := multilock.Config{
		Numbered: s.cfg.Scope != ScopeQueue, Log: s.cfg.Logger,
		Hold: func(ctx context.Context, i int, grant waiter.Grant) multilock.Held {
			return s.client.hold(ctx, s.cfg, s.queues[i], grant)
		},
		Ready: func() error {
			if calls.Close() {
				return callback.ErrFailed
			}
			if cause := context.Cause(ctx); cause != nil && cause != errWaitOver {
				return ctx.Err() // served while the caller gave up
			}
			return nil
		},
	}
	for _, q := range s.queues {
		config.Waiters = append(config.Waiters, s.client.waiter(s.cfg, q, calls))
	}
	held, err := multilock.Acquire(ctx, config, wait)
	if failed, ok := errors.AsType[*multilock.Error](err); ok {
		return nil, failed.Tried, s.failure(ctx, failed)
	}
	locks := make([]*Lock, len(held))
	for i, h := range held {
		locks[slices.Index(s.given, keyOf(s.queues[i]))] = s.client.deliver(h.(*session.Session), s.cfg)
	}
	return newLocks(ctx, locks, config.Numbered), true, nil
}

// failure makes the error of a failed attempt, joined with what it could not undo.
func (s *several) failure(ctx context.Context, failed *multilock.Error) error {
	errs := []error{s.client.acquireError(ctx, s.cfg, s.queues[failed.Queue], failed.Err, failed.Status)}
	for i, err := range failed.Left {
		if orphan, ok := errors.AsType[*multilock.OrphanError](err); ok {
			err = &UnreleasedError{Key: keyOf(s.queues[i]), Ticket: orphan.Ticket, Err: orphan.Err}
		}
		errs = append(errs, publicError(err))
	}
	return errors.Join(errs...)
}
