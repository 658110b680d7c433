package queuelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/callback"
	"github.com/queuelock/queuelock/internal/multi"
	"github.com/queuelock/queuelock/internal/session"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/waitpolicy"
)

// AcquireAll acquires several locks, all or none. A key that is given twice is one
// lock, and an empty list is an error.
//
// With a wider Config.Scope one number is the ticket in all queues. They are entered
// in the order of keys: by entity, then by reason, byte by byte. Then AcquireAll waits
// in all of them at the same time, and keeps what it is granted. If it is overtaken in
// one of them, or loses a lock while it waits for the others, it gives everything back
// and begins again with a new number. So calls never deadlock with each other. A
// process that holds locks, and asks for more by another call, can wait for itself.
//
// With ScopeEntity the keys must be of one entity. With ScopeQueue, the default, there
// is no common ticket, and the locks are acquired one after the other, in the order of
// keys. Each that is held is idle until the last is.
//
// wait and ctx bound the whole, and opts are those of each lock, as for Acquire. With
// NoWait the first lock that is busy ends the attempt. OnProgress receives the latest
// Progress of each queue. OnHandle is an error: a wait for several locks is not resumed.
//
// Errors are those of Acquire, for the key that stood in the way, or the first that was
// still waited for. Nothing of the attempt is left in the table, as for Acquire. A call
// that gives up takes up to about four seconds more if the table does not answer.
//
// Of n idle locks: n + 1 requests, one after the other; 2n + 1 and the looks if it
// is to wait in all, and another n for the claims. It looks often in at most 16 queues,
// and in the others when it has been served in those, or each few seconds.
// With ScopeQueue those of n Acquires.
func (c *Client) AcquireAll(ctx context.Context, keys []Key, wait waitpolicy.Wait, opts ...Option) (*Locks, error) {
	begun := time.Now()
	s, err := c.prepareAll(keys, wait, opts)
	if err != nil {
		return nil, err
	}
	s.begun = begun
	locks, tried, err := s.try(ctx, wait)
	if !tried && s.cfg.tooShort(ctx, begun, err) {
		locks, _, err = s.try(ctx, waitpolicy.NoWait)
	}
	return locks, err
}

// several is one AcquireAll.
type several struct {
	client   *Client
	cfg      settings
	given    []Key // as they were given, each once
	members  []member
	numbered bool // there is a common ticket
	begun    time.Time
}

// member is one of the queues, in the order in which they are entered.
type member struct {
	key   Key
	queue table.Queue
}

func (c *Client) prepareAll(keys []Key, wait waitpolicy.Wait, opts []Option) (*several, error) {
	if len(keys) == 0 {
		return nil, errors.New("queuelock: AcquireAll: no keys: name what is to be locked")
	}
	s := &several{client: c, numbered: c.cfg.Scope != ScopeQueue}
	seen := map[Key]bool{}
	for _, key := range keys {
		cfg, q, err := c.prepare(key, wait, opts)
		if err != nil {
			return nil, err
		}
		if cfg.placed != nil {
			return nil, errors.New("queuelock: AcquireAll: OnHandle is for Acquire: a wait for several locks cannot be resumed")
		}
		key = key.normal()
		if c.cfg.Scope == ScopeEntity && key.Entity != keys[0].Entity {
			return nil, fmt.Errorf("queuelock: AcquireAll: the keys are of the entities %q and %q, which have no common ticket with ScopeEntity: use ScopeTable", keys[0].Entity, key.Entity)
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		s.cfg = cfg
		s.given = append(s.given, key)
		s.members = append(s.members, member{key, q})
	}
	slices.SortFunc(s.members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.key.Entity, b.key.Entity), cmp.Compare(a.key.Reason, b.key.Reason))
	})
	return s, nil
}

// try is AcquireAll without the second attempt. tried reports whether the table was
// asked.
func (s *several) try(ctx context.Context, wait waitpolicy.Wait) (_ *Locks, tried bool, _ error) {
	ctx, end, err := s.client.begin(ctx, wait)
	if err != nil {
		return nil, true, err
	}
	defer end()
	ctx, calls := callback.New(ctx, s.client.background.Run)
	defer calls.Raise()
	held, err := multi.Acquire(ctx, s.config(ctx, calls), wait)
	if failed, ok := errors.AsType[*multi.Error](err); ok {
		return nil, failed.Tried, s.failure(ctx, failed)
	}
	locks := make([]*Lock, len(held))
	for i, h := range held {
		locks[i] = s.client.deliver(h.(*session.Session), s.cfg)
	}
	return newLocks(ctx, s.given, locks, s.numbered), true, nil
}

// config returns what the attempt goes by. ctx bounds it.
func (s *several) config(ctx context.Context, calls *callback.Caller) multi.Config {
	c := multi.Config{
		Numbered: s.numbered, Log: s.cfg.Logger,
		Hold: func(ctx context.Context, i int, grant waiter.Grant) multi.Held {
			return s.client.hold(ctx, s.members[i].key, s.cfg, s.members[i].queue, grant)
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
	for _, m := range s.members {
		c.Waiters = append(c.Waiters, s.client.waiter(s.cfg, m.queue, s.client.progress(calls, s.cfg.progress, m.key, m.queue, s.begun)))
	}
	return c
}

// failure is the error of an attempt that failed, and of all that is left of it.
func (s *several) failure(ctx context.Context, failed *multi.Error) error {
	m := s.members[failed.Queue]
	errs := []error{acquireError(ctx, m.key, failed.Err, s.client.served(m.queue, failed.Status), failed.Status, time.Since(s.begun))}
	for i, err := range failed.Left {
		if orphan, ok := errors.AsType[*multi.OrphanError](err); ok {
			err = &UnreleasedError{Key: s.members[i].key, Ticket: orphan.Ticket, Err: orphan.Err}
		}
		errs = append(errs, publicError(err))
	}
	return errors.Join(errs...)
}
