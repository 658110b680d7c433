package faults_test

import (
	"context"
	"errors"
	"testing"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestAnswerAfterEnd checks what an Acquire reports whose caller has given up before its only request failed: that, and not
// a lock that is busy.
func TestAnswerAfterEnd(t *testing.T) {
	for name, c := range map[string]struct {
		code        queuelocktest.Code
		unavailable bool
	}{
		"Throttled": {code: queuelocktest.Throttling, unavailable: true},
		"Failed":    {code: queuelocktest.InternalError, unavailable: true},
		"Refused":   {code: "ValidationException"},
	} {
		for scope, cfg := range scopes {
			locktest.InTable(t, name+"/"+scope, func(t *testing.T, table *queuelocktest.Table) {
				a, _ := locktest.OpenMet(t, table, "a", cfg)
				ctx, cancel := context.WithCancel(t.Context())
				table.Inject(queuelocktest.Refuse(c.code).Mentioning("holdMode").Where(func(queuelocktest.Request) bool {
					cancel()
					return true
				}))
				_, err := a.Acquire(ctx, locktest.Order, waitpolicy.Forever)
				if errors.Is(err, queuelock.ErrUnavailable) != c.unavailable || errors.Is(err, queuelock.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
			})
		}
	}
}
