// Package migrate_test has the code of docs/migration.md, which compares it with this file:
// a change from dynamolock to queuelock while both run.
package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cirello.io/dynamolock/v2"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

var errFormerLost = errors.New("the lock of dynamolock is about to expire")

// both runs work while it holds the entity's lock of queuelock and that of dynamolock,
// always taken in this order. The context of work ends when either is lost.
func both(ctx context.Context, locks *queuelock.Client, former *dynamolock.Client, entity string,
	work func(context.Context, *queuelock.Lock) error) error {
	key := queuelock.Key{Entity: entity}
	return locks.Do(ctx, key, waitpolicy.Forever, func(ctx context.Context, lock *queuelock.Lock) (err error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		held, err := former.AcquireLockWithContext(ctx, entity,
			dynamolock.WithAdditionalTimeToWaitForLock(24*time.Hour), // ctx ends the wait
			dynamolock.WithSessionMonitor(9*time.Second, func() { cancel(errFormerLost) }))
		if err != nil {
			return err
		}
		defer func() {
			ending, end := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer end()
			_, failed := former.ReleaseLockWithContext(ending, held)
			err = errors.Join(err, failed)
		}()
		return work(ctx, lock)
	})
}

// site is a table of each library, with real SDK clients in memory.
type site struct{ former, next *queuelocktest.Table }

func newSite(t *testing.T) site {
	latency := queuelocktest.WithLatency(5 * time.Millisecond)
	s := site{
		former: queuelocktest.NewTable(t, queuelocktest.WithName("former"), queuelocktest.WithoutTable(), latency),
		next:   queuelocktest.NewTable(t, latency),
	}
	client, _ := s.dynamolock(t, "setup")
	if _, err := client.CreateTable("former"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s site) dynamolock(t *testing.T, name string) (*dynamolock.Client, *queuelocktest.Client) {
	db := s.former.Client(name)
	client, err := dynamolock.New(db, "former", dynamolock.WithOwnerName(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, client.Close()) })
	return client, db
}

func (s site) queuelock(t *testing.T, name string) (*queuelock.Client, *queuelocktest.Client) {
	db := s.next.Client(name)
	client, err := queuelock.New(db, s.next.Name(), queuelock.Config{Owner: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, client.Close(context.Background())) })
	return client, db
}

func closed(t *testing.T, err error) {
	if err != nil {
		t.Errorf("close: %v", err)
	}
}

// turn is one turn of a program of one version.
type turn func(context.Context, func(context.Context) error) error

// The versions of a program, in the order of their deployment.
func (s site) formerAlone(t *testing.T, name string) turn {
	client, _ := s.dynamolock(t, name)
	return func(ctx context.Context, work func(context.Context) error) error {
		held, err := client.AcquireLockWithContext(ctx, "order-7", dynamolock.WithAdditionalTimeToWaitForLock(24*time.Hour))
		if err != nil {
			return err
		}
		err = work(ctx)
		_, failed := client.ReleaseLock(held)
		return errors.Join(err, failed)
	}
}

func (s site) both(t *testing.T, name string) turn {
	former, _ := s.dynamolock(t, name)
	locks, _ := s.queuelock(t, name)
	return func(ctx context.Context, work func(context.Context) error) error {
		return both(ctx, locks, former, "order-7", func(ctx context.Context, _ *queuelock.Lock) error { return work(ctx) })
	}
}

func (s site) nextAlone(t *testing.T, name string) turn {
	locks, _ := s.queuelock(t, name)
	return func(ctx context.Context, work func(context.Context) error) error {
		key := queuelock.Key{Entity: "order-7"}
		return locks.Do(ctx, key, waitpolicy.Forever, func(ctx context.Context, _ *queuelock.Lock) error { return work(ctx) })
	}
}

// TestVersions lets programs of two versions take turns. Neighbours exclude each other. The
// first and the last do not, which shows that the test can see an overlap.
func TestVersions(t *testing.T) {
	for name, c := range map[string]struct {
		versions [2]func(site, *testing.T, string) turn
		overlap  bool
	}{
		"FormerAndBoth": {versions: [2]func(site, *testing.T, string) turn{site.formerAlone, site.both}},
		"BothAndNext":   {versions: [2]func(site, *testing.T, string) turn{site.both, site.nextAlone}},
		"FormerAndNext": {versions: [2]func(site, *testing.T, string) turn{site.formerAlone, site.nextAlone}, overlap: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				var inside, overlaps, turns atomic.Int32
				work := func(ctx context.Context) error {
					if inside.Add(1) > 1 {
						overlaps.Add(1)
					}
					defer inside.Add(-1)
					time.Sleep(3 * time.Second)
					turns.Add(1)
					return ctx.Err()
				}
				done := make(chan error)
				const rounds = 5
				for i := range 4 {
					next := c.versions[i%2](s, t, fmt.Sprint("process-", i))
					go func() {
						var errs error
						for range rounds {
							errs = errors.Join(errs, next(t.Context(), work))
						}
						done <- errs
					}()
				}
				for range 4 {
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				if got := overlaps.Load() > 0; got != c.overlap || turns.Load() != 4*rounds {
					t.Errorf("%d turns, %d overlaps, want overlaps %v", turns.Load(), overlaps.Load(), c.overlap)
				}
			})
		})
	}
}

// TestLossOfEither checks that the work learns of the loss of each lock before another
// process can hold it.
func TestLossOfEither(t *testing.T) {
	for name, c := range map[string]struct {
		want   error
		within time.Duration // the lease
	}{
		"Former": {errFormerLost, 20 * time.Second},
		"Next":   {queuelock.ErrLost, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				former, network := s.dynamolock(t, "process")
				locks, db := s.queuelock(t, "process")
				if name == "Next" {
					network = db
				}
				var cause error
				var took time.Duration
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				err := both(ctx, locks, former, "order-7", func(ctx context.Context, _ *queuelock.Lock) error {
					begun := time.Now()
					// dynamolock holds a mutex during a request, so one that hangs would stop the bubble's time.
					refused := network.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied))
					<-ctx.Done()
					cause, took = context.Cause(ctx), time.Since(begun)
					refused.Remove()
					return cause
				})
				if !errors.Is(cause, c.want) || !errors.Is(err, c.want) || took >= c.within {
					t.Errorf("%v after %v, %v; want %v within %v", cause, took, err, c.want, c.within)
				}
			})
		})
	}
}
