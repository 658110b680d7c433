// Package sweeper removes expired holders and waiters from queues in which no client
// waits.
//
// Waiters remove what has expired whenever they look, so a busy queue needs no sweeper.
// In a queue without waiters the entries of crashed clients stay until the next
// Acquire. The table's TTL removes rows only. Use [Once] in a cron job, and [Run]
// in a process that lives longer.
//
// Only what has expired is removed: each removal is a conditional write, which fails if
// the owner has renewed its lease. Any number of sweepers may run at the same time. Run
// starts no goroutine, ends with its context, and retries failures at the next
// interval. A sweep finds what had expired at the time of its read. A lock that fails closed
// never expires; Client.Evict removes it.
package sweeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/random"
)

// Config changes how Run works. The zero value is right for most uses.
type Config struct {
	// Interval is the longest time from the end of one round to the next, which
	// begins up to a tenth earlier, at random. Zero means one minute. At least 1 s.
	Interval time.Duration
	// OnSwept is called after each sweep that removed something. Nil means none.
	OnSwept func(queuelock.Key, queuelock.Swept)
	// OnError is called after each sweep that failed, and with the zero Key if Keys
	// failed. The next round tries again. Nil means none.
	OnError func(queuelock.Key, error)
}

// Keys returns the keys of the queues to sweep. Run calls it in each round.
type Keys func(context.Context) ([]queuelock.Key, error)

// Fixed returns Keys that are always the same.
func Fixed(keys ...queuelock.Key) Keys {
	return func(context.Context) ([]queuelock.Key, error) { return keys, nil }
}

const (
	defaultInterval = time.Minute
	minInterval     = time.Second
	spread          = 0.1 // the part of Interval by which a round may begin earlier
)

// Run sweeps the queues once in each interval, beginning now, one key after another. It
// calls the functions of cfg in the caller's goroutine. Returns
//
//   - an error at once if an argument is invalid.
//   - ctx's error when ctx ends, and queuelock.ErrClosed when the client is closed.
func Run(ctx context.Context, client *queuelock.Client, keys Keys, cfg Config) error {
	cfg.Interval = cmp.Or(cfg.Interval, defaultInterval)
	switch {
	case client == nil:
		return errors.New("sweeper: the client is nil")
	case keys == nil:
		return errors.New("sweeper: Keys is nil")
	case cfg.Interval < minInterval:
		return fmt.Errorf("sweeper: Interval is %v: at least %v is needed", cfg.Interval, minInterval)
	}
	for {
		if err := cfg.round(ctx, client, keys); err != nil {
			return err
		}
		timer := time.NewTimer(cfg.Interval - time.Duration(spread*random.Float64(ctx)*float64(cfg.Interval)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// round sweeps each queue once. Its error ends Run.
func (c Config) round(ctx context.Context, client *queuelock.Client, keys Keys) error {
	all, err := keys(ctx)
	if err = c.report(ctx, queuelock.Key{}, queuelock.Swept{}, err); err != nil {
		return err
	}
	for _, key := range all {
		swept, err := client.Sweep(ctx, key)
		if err = c.report(ctx, key, swept, err); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// report calls the functions of the Config, and returns what ends Run.
func (c Config) report(ctx context.Context, key queuelock.Key, swept queuelock.Swept, err error) error {
	if swept != (queuelock.Swept{}) && c.OnSwept != nil {
		c.OnSwept(key, swept)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, queuelock.ErrClosed):
		return queuelock.ErrClosed
	case err != nil && c.OnError != nil:
		c.OnError(key, err)
	}
	return nil
}

// Once sweeps each of the queues once, and returns what it removed in all. The error
// joins those of all keys. Calling it again is safe.
func Once(ctx context.Context, client *queuelock.Client, keys ...queuelock.Key) (queuelock.Swept, error) {
	if client == nil {
		return queuelock.Swept{}, errors.New("sweeper: the client is nil")
	}
	var total queuelock.Swept
	var errs []error
	for _, key := range keys {
		swept, err := client.Sweep(ctx, key)
		total.Waiters += swept.Waiters
		total.Holders += swept.Holders
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return total, errors.Join(errs...)
}
