package keeper

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Limits end a keeper whose script has ended, or has forgotten it.
type Limits struct {
	MaxHold   time.Duration // zero: none
	ParentPid int           // zero: none
}

// Context returns a context that ends with the first of the limits, with the reason as its
// cause. MaxHold counts from the call.
func (l Limits) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(context.Canceled) }
	if l.ParentPid > 0 {
		ended := func() { cancel(fmt.Errorf("process %d of --parent-pid has ended", l.ParentPid)) }
		if process, err := os.FindProcess(l.ParentPid); err != nil {
			ended()
		} else {
			go func() {
				watch(ctx, process, ended)
				_ = process.Release()
			}()
		}
	}
	if l.MaxHold > 0 {
		timer := time.AfterFunc(l.MaxHold, func() { cancel(fmt.Errorf("--max-hold %v is over", l.MaxHold)) })
		context.AfterFunc(ctx, func() { timer.Stop() })
	}
	return ctx, stop
}
