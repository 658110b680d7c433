package queuelock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/oncecall"
	"github.com/queuelock/queuelock/internal/play"
	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

// ErrResult is the error of an [event.NotAcquired] of package once: the caller needs no lock, because another holder
// has left a result. It is not a failure, and no call returns it.
var ErrResult = errors.New("queuelock: a holder has left a result")

func init() {
	oncecall.Option = func(call *oncecall.Call) any { return option(func(s *settings) { s.once = call }) }
}

// serveOnce is serve for a caller that waits for a result. First it reads the record.
func (c *Client) serveOnce(ctx context.Context, cfg *settings) (*Lock, error) {
	call := cfg.once
	rec, err := c.readOnce(ctx, cfg)
	if err != nil {
		return nil, err
	}
	cfg.wanted = &machine.Wanted{Undated: cfg.ObserveExpiry, Had: rec.Result.Ticket}
	switch call.Result, err = cfg.answer(rec.Result); {
	case err != nil:
		return nil, err
	case call.Result != nil:
		return nil, ErrResult
	}
	lock, err := c.serve(ctx, cfg)
	if err != nil {
		return nil, err
	}
	turn := lock.turn
	if call.Result, err = cfg.answer(turn.Result()); err != nil {
		return nil, errors.Join(err, lock.Release(ctx))
	}
	call.Publish = func(ctx context.Context, value []byte, ttl time.Duration) error {
		return publicError(turn.Publish(ctx, value, ttl))
	}
	call.Look = func(ctx context.Context) (*queue.Result, error) {
		rec, err := requests.Get(ctx, cfg.queue)
		if err != nil {
			return nil, err
		}
		return cfg.answer(rec.Result)
	}
	return lock, nil
}

// readOnce reads the record before an acquire, as patiently as the acquire would.
func (c *Client) readOnce(ctx context.Context, cfg *settings) (rec queue.Record, err error) {
	bounded, err := c.begin(ctx, waitpolicy.Forever)
	if err != nil {
		return rec, err
	}
	defer bounded.end()
	policy := table.Retryable.Within(max(cfg.TTL, minRetryTimeout))
	err = policy.Do(bounded.ctx, func(ctx context.Context) (err error) {
		rec, err = requests.Get(ctx, cfg.queue)
		return err
	})
	if err != nil {
		return rec, c.acquireError(bounded.ctx, cfg, err, play.Status{})
	}
	return rec, nil
}

// answer returns the result of a record if it answers the caller.
func (s *settings) answer(result queue.Result) (*queue.Result, error) {
	_, latest, _ := s.queue.Clock().At(time.Now())
	ok, err := s.wanted.Met(result, latest)
	if err != nil {
		return nil, fmt.Errorf("queuelock: acquire %s: %w", keyOf(s.queue), err)
	}
	if !ok {
		return nil, nil
	}
	return &result, nil
}
