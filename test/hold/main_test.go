// Package hold_test tests a lock that is held: how long it lasts, how it ends, the writes that are made only while it is
// held, and what others see of it.
package hold_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(engines.Main(m)) }

// hold opens a client, and acquires the lock.
func hold(t *testing.T, table *queuelocktest.Table, cfg queuelock.Config, opts ...queuelock.AcquireOption) (*queuelock.Lock, *queuelocktest.Client) {
	t.Helper()
	c, db := locktest.Open(t, table, "holder", cfg)
	return locktest.Acquire(t, c, waitpolicy.NoWait, opts...), db
}

// limited returns a context that ends after a time.
func limited(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// recovered returns what f panics with.
func recovered(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// isUnknown reports whether an error says that the outcome is not known.
func isUnknown(err error) bool {
	_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err)
	return unknown
}

// number returns the number that an attribute has; zero: none.
func number(v types.AttributeValue) int64 {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	return locktest.Must(strconv.ParseInt(n.Value, 10, 64))
}
