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

// Parent returns a context that ends with the process of ParentPid, with that as its cause.
func (l Limits) Parent(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(context.Canceled) }
	if l.ParentPid == 0 {
		return ctx, stop
	}
	ended := func() { cancel(fmt.Errorf("process %d of --parent-pid has ended", l.ParentPid)) }
	process, err := os.FindProcess(l.ParentPid)
	if err != nil {
		ended()
		return ctx, stop
	}
	go func() {
		watch(ctx, process, ended)
		_ = process.Release()
	}()
	return ctx, stop
}

// Hold returns a context that ends after MaxHold, with that as its cause. It counts from the call.
func (l Limits) Hold(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.MaxHold == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, l.MaxHold, fmt.Errorf("--max-hold %v is over", l.MaxHold))
}
