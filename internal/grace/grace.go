// Package grace lets a request outlive the cancellation of its caller for a
// limited time. A write whose answer is not awaited has an unknown outcome, and
// its clean-up costs more than the wait.
package grace

import (
	"context"
	"time"
)

// Context returns a context with the values of ctx that ends a grace period after
// ctx, or when cancel is called. If ctx has ended already, the period begins now.
func Context(ctx context.Context, period time.Duration) (extended context.Context, cancel context.CancelFunc) {
	extended, end := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() { time.AfterFunc(period, end) })
	return extended, func() { unhook(); end() }
}
