package main

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
)

// site is a table of each library, with real SDK clients in memory.
type site struct{ former, next *queuelocktest.Table }

func newSite(t *testing.T) site {
	// dynamolock holds a mutex during a request. A wait for that stops the bubble's time, so its table answers at once.
	s := site{
		former: queuelocktest.NewTable(t, queuelocktest.WithName("former"), queuelocktest.WithoutTable()),
		next:   queuelocktest.NewTable(t, queuelocktest.WithLatency(5*time.Millisecond)),
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

// program returns a program of a deployment.
func (s site) program(t *testing.T, deployment int, name string) program {
	p := program{deployment: deployment}
	if deployment < 2 {
		p.former, _ = s.dynamolock(t, name)
	}
	if deployment > 0 {
		p.locks, _ = s.queuelock(t, name)
	}
	return p
}

// TestVersions lets programs of two deployments take turns. Neighbours exclude each other. The
// first and the last do not, which shows that the test can see an overlap.
func TestVersions(t *testing.T) {
	for name, c := range map[string]struct {
		deployments [2]int
		overlap     bool
	}{
		"FormerAndBoth": {deployments: [2]int{0, 1}},
		"BothAndNext":   {deployments: [2]int{1, 2}},
		"FormerAndNext": {deployments: [2]int{0, 2}, overlap: true},
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
					p := s.program(t, c.deployments[i%2], fmt.Sprint("process-", i))
					go func() {
						var errs error
						for range rounds {
							errs = errors.Join(errs, p.turn(t.Context(), "order-7", work))
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

// TestLossOfEither checks that the work learns of the loss of each lock before another process can hold it.
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
					// One that hangs would stop the bubble's time.
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
