package callback_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/internal/callback"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func start(t *testing.T) (context.Context, *callback.Caller) {
	ctx, cancel := context.WithCancelCause(t.Context())
	return ctx, callback.New(cancel, func(f func()) { go f() })
}

func TestCaller(t *testing.T) {
	locktest.InBubble(t, "KeepsLastOfEach", func(t *testing.T) {
		_, c := start(t)
		var made []string
		say := func(s string) func() {
			return func() { time.Sleep(time.Millisecond); made = append(made, s) }
		}
		c.Call("a", say("a1"))
		synctest.Wait() // a1 is under way
		c.Call("a", say("a2"))
		c.Call(nil, say("n1"))
		c.Call("b", say("b1"))
		c.Call("a", say("a3"))
		c.Call(nil, say("n2"))
		time.Sleep(time.Second)
		c.Raise()
		c.Call(nil, say("late"))
		synctest.Wait()
		if got := fmt.Sprint(made); got != "[a1 a3 n1 b1 n2]" {
			t.Error(got)
		}
	})
	locktest.InBubble(t, "RaisesPanic", func(t *testing.T) {
		ctx, c := start(t)
		c.Call(nil, func() { panic("mistake") })
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), callback.ErrFailed) || !c.Close() {
			t.Error(context.Cause(ctx))
		}
		defer func() {
			if got := recover(); got != "mistake" {
				t.Errorf("recovered %v", got)
			}
		}()
		c.Raise()
	})
	locktest.InBubble(t, "LeavesBlockedCall", func(t *testing.T) {
		_, c := start(t)
		release := make(chan struct{})
		c.Call(nil, func() { <-release })
		synctest.Wait()
		begun := time.Now()
		if c.Close() || time.Since(begun) != time.Second {
			t.Errorf("closed after %v", time.Since(begun))
		}
		c.Raise()
		if took := time.Since(begun); took != time.Second {
			t.Errorf("waited twice: %v", took)
		}
		close(release)
	})
}
