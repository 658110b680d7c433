package modes_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestKindOfQueue checks that a queue remains a lock or a semaphore.
func TestKindOfQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			first, then []queuelock.AcquireOption
			says        []string
		}{
			"another number": {[]queuelock.AcquireOption{queuelock.Permits(3)}, []queuelock.AcquireOption{queuelock.Permits(5)}, []string{"is a semaphore of 3, and a semaphore of 5 is asked for", "pass Permits(3), or use another Reason"}},
			"a lock":         {[]queuelock.AcquireOption{queuelock.Permits(3)}, nil, []string{"is a semaphore of 3, and a lock is asked for", "pass Permits(3), or use another Reason"}},
			"a semaphore":    {nil, []queuelock.AcquireOption{queuelock.Permits(1)}, []string{"is a lock, and a semaphore of 1 is asked for", "leave Permits out, or use another Reason"}},
			"a reader":       {[]queuelock.AcquireOption{queuelock.Permits(2)}, []queuelock.AcquireOption{queuelock.Shared()}, []string{"a semaphore of 2", "a lock"}},
		} {
			table := queuelocktest.NewTable(t)
			a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
			for _, held := range []bool{true, false} {
				lock := locktest.Acquire(t, a, waitpolicy.NoWait, test.first...)
				if !held {
					locktest.Release(t, lock)
				}
				before, removals := table.Items(), table.Inject(queuelocktest.Refuse(queuelocktest.InternalError).Of("UpdateItem").Mentioning("REMOVE holders."))
				for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
					_, err := b.Acquire(t.Context(), locktest.Order, wait, test.then...)
					if _, ok := errors.AsType[*queue.MismatchError](err); !ok {
						t.Fatalf("%s, %v: %v, want a MismatchError", name, wait, err)
					}
					locktest.Says(t, err, test.says...)
					if !strings.HasPrefix(err.Error(), `queuelock: "order-7" (lock) is `) || strings.Count(err.Error(), "order-7") != 1 {
						t.Errorf("%s: %v, want the key once", name, err)
					}
				}
				if removals.Remove(); removals.Fired() != 0 {
					t.Errorf("%s: it removed what it had not put", name)
				}
				if after := table.Items(); !reflect.DeepEqual(before, after) {
					t.Errorf("%s: it has changed %v to %v", name, before, after)
				}
				if held {
					locktest.Release(t, lock)
				}
			}
		}
	})
}
