// Package linger lets a request outlive its caller's cancellation by a little:
// a write whose answer is not awaited has an unknown outcome, which costs more
// to clean up than it takes to wait.
package linger

import (
	"context"
	"time"
)

// Context returns a context with ctx's values that ends grace after ctx does,
// or when cancel is called, which must be in the end. If ctx has ended already,
// it still has that long.
func Context(ctx context.Context, grace time.Duration) (lingering context.Context, cancel context.CancelFunc) {
	lingering, end := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() { time.AfterFunc(grace, end) })
	return lingering, func() { unhook(); end() }
}
