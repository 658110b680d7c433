package acquire_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestBlockPanicOfSeveral ends the goroutine of a block of several callers, by a panic or runtime.Goexit of the DynamoDB client. Its
// first caller ends like that, as one that waits alone, and the others are served.
func TestBlockPanicOfSeveral(t *testing.T) {
	for name, end := range map[string]func(){"Panic": func() { panic("mistake") }, "Goexit": runtime.Goexit} {
		for what, attribute := range map[string]string{"InTake": "ticketNumber", "InLook": "pk"} {
			locktest.InBubble(t, name+what, func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
				db := &locktest.Breaking{Client: table.Client("c"), Attribute: attribute, End: end}
				c, err := queuelock.New(db, table.Name(), queuelock.Config{TTL: 10 * time.Second})
				locktest.OK(t, err)
				other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
				held := locktest.Acquire(t, other, waitpolicy.Forever)
				leaves, leave := context.WithCancel(t.Context())
				alone := locktest.QueueUp(leaves, c, waitpolicy.Forever)
				time.Sleep(time.Microsecond)
				var calls sync.WaitGroup
				var turns, panics, exits atomic.Int64
				for range 5 {
					calls.Go(func() {
						done := make(chan struct{})
						go func() {
							returned := false
							defer close(done)
							defer func() {
								switch v := recover(); {
								case v == "mistake":
									panics.Add(1)
								case !returned:
									exits.Add(1)
								}
							}()
							lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
							returned = true
							locktest.Check(t, err)
							turns.Add(1)
							locktest.Check(t, lock.Release(t.Context()))
						}()
						<-done
					})
					time.Sleep(time.Microsecond)
				}
				if time.Sleep(3 * time.Millisecond); what == "InTake" { // the first has sent its TAKE
					db.Left.Store(2)
				}
				time.Sleep(5 * time.Second)
				leave()
				<-alone
				if what == "InLook" {
					db.Left.Store(2)
				}
				time.Sleep(20 * time.Second)
				locktest.Release(t, held)
				calls.Wait()
				if turns.Load() != 3 || panics.Load()+exits.Load() != 2 || (name == "Panic") != (panics.Load() == 2) {
					t.Errorf("%d turns, %d panics, %d exits", turns.Load(), panics.Load(), exits.Load())
				}
				locktest.OK(t, c.Close(t.Context()))
				time.Sleep(time.Minute)
				if rows, holders := locktest.RowsAndHolders(t, other); rows+holders > 0 {
					t.Errorf("%d rows and %d holders are left", rows, holders)
				}
			})
		}
	}
}

// fragile is a handler whose Enabled panics at times.
type fragile struct {
	slog.Handler
	panics *atomic.Bool
}

func (f fragile) Enabled(ctx context.Context, l slog.Level) bool {
	if f.panics.Load() {
		panic("mistake")
	}
	return f.Handler.Enabled(ctx, l)
}

// TestLoggerPanics lets a Logger's Enabled panic in a block. No call does, and all are served.
func TestLoggerPanics(t *testing.T) {
	locktest.InBubble(t, "InBlock", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		var panics atomic.Bool
		c, _ := locktest.Open(t, table, "c", queuelock.Config{Block: 64, Logger: slog.New(fragile{slog.DiscardHandler, &panics})})
		held := locktest.Acquire(t, c, waitpolicy.Forever)
		panics.Store(true)
		mine := gathered(t.Context(), c, 5)
		time.Sleep(5 * time.Second)
		locktest.Release(t, held)
		for _, one := range mine {
			locktest.Release(t, lockOf(t, one))
		}
	})
}
