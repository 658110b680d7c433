package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestDo(t *testing.T) {
	boom := errors.New("boom")
	for name, returned := range map[string]func(loss error) error{
		"ReportsLossOnceIfReturned":          func(loss error) error { return loss },
		"ReportsLossOnceIfWrapped":           func(loss error) error { return fmt.Errorf("shipping: %w", loss) },
		"ReportsLossOnceIfJoined":            func(loss error) error { return errors.Join(boom, loss) },
		"ReportsLossOnceBesideAnother":       func(error) error { return boom },
		"ReportsLossOnceIfNothingIsReturned": func(error) error { return nil },
		"ReportsLossBesideAnotherLocksLoss":  func(error) error { return &queuelock.LostError{Key: queuelock.Key{Entity: "other"}} },
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			var want error
			err := c.Do(t.Context(), locktest.Order, waitpolicy.NoWait, func(ctx context.Context, _ *queuelock.Lock) error {
				db.Partition()
				<-ctx.Done()
				want = context.Cause(ctx)
				return returned(want)
			})
			if !errors.Is(err, want) || !errors.Is(want, queuelock.ErrLost) || strings.Count(err.Error(), want.Error()) != 1 {
				t.Errorf("%v: want the loss %v, once", err, want)
			}
		})
	}
}
