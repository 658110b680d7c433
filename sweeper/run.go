package sweeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/queuelock/queuelock/internal/group"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
)

// Config changes how Run works. The zero value is right for most uses.
type Config struct {
	// Interval is the longest time from the end of one round to the next, which
	// begins up to a tenth earlier, at random. Zero means one minute. At least 1 s.
	Interval time.Duration
	// OnSwept is called after each sweep that removed something, with the queue's name. Nil means none.
	OnSwept func(queue string, swept Swept)
	// OnError is called after each sweep that failed, and with no name if Keys failed. The next round retries. Nil means
	// none.
	OnError func(queue string, err error)
}

// Client sweeps the queue of a key: a [queuelock.Operator].
type Client[Key fmt.Stringer] interface {
	Sweep(context.Context, Key) (Swept, error)
}

// Keys returns the keys of the queues to sweep. Run calls it in each round.
type Keys[Key fmt.Stringer] func(context.Context) ([]Key, error)

// Fixed returns [Keys] that are always the same.
func Fixed[Key fmt.Stringer](keys ...Key) Keys[Key] {
	return func(context.Context) ([]Key, error) { return keys, nil }
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
//   - ctx's error when ctx ends, and [queuelock.ErrClosed] when the client is closed.
func Run[Key fmt.Stringer](ctx context.Context, client Client[Key], keys Keys[Key], cfg Config) error {
	cfg.Interval = cmp.Or(cfg.Interval, defaultInterval)
	switch {
	case isNil(client):
		return errNoClient
	case keys == nil:
		return errors.New("sweeper: Keys is nil")
	case cfg.Interval < minInterval:
		return fmt.Errorf("sweeper: Interval is %v: at least %v is needed", cfg.Interval, minInterval)
	}
	for {
		if err := round(ctx, client, keys, cfg); err != nil {
			return err
		}
		if !retry.Sleep(ctx, cfg.Interval-time.Duration(spread*random.Float64(ctx)*float64(cfg.Interval))) {
			return ctx.Err()
		}
	}
}

// round sweeps each queue once. Its error ends Run.
func round[Key fmt.Stringer](ctx context.Context, client Client[Key], keys Keys[Key], cfg Config) error {
	all, err := keys(ctx)
	if err = cfg.report(ctx, "", Swept{}, err); err != nil {
		return err
	}
	for _, key := range all {
		swept, err := client.Sweep(ctx, key)
		if err = cfg.report(ctx, key.String(), swept, err); err != nil {
			return err
		}
	}
	return ctx.Err()
}

var errNoClient = errors.New("sweeper: the client is nil")

func isNil(client any) bool {
	v := reflect.ValueOf(client)
	return client == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// report calls the functions of the Config, and returns what ends Run.
func (c Config) report(ctx context.Context, queue string, swept Swept, err error) error {
	if swept != (Swept{}) && c.OnSwept != nil {
		c.OnSwept(queue, swept)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, group.ErrClosed):
		return group.ErrClosed
	case err != nil && c.OnError != nil:
		c.OnError(queue, err)
	}
	return nil
}

// Once sweeps each of the queues once, and returns what it removed in all. The error
// joins those of all keys. Calling it again is safe.
func Once[Key fmt.Stringer](ctx context.Context, client Client[Key], keys ...Key) (Swept, error) {
	var total Swept
	if isNil(client) {
		return total, errNoClient
	}
	var errs []error
	for _, key := range keys {
		swept, err := client.Sweep(ctx, key)
		total.add(swept)
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return total, errors.Join(errs...)
}
