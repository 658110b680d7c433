package waiter

import (
	"context"
	"errors"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Acquire runs a Waiter, and under waitpolicy.Attempts one after the other, each
// without a place in the queue and with ids of its own. It returns the last. A busy
// lock and a table that does not answer are tried again. Any other error ends it,
// and so do ctx and an Orphan.
func Acquire(ctx context.Context, c Config, wait waitpolicy.Wait) (*Waiter, Grant, error) {
	tries, _ := wait.Tries()
	c.NoWait = tries > 0
	for try := 1; ; try++ {
		w := New(c)
		grant, err := w.Run(ctx)
		repeat := w.Orphan() == nil && (errors.Is(err, ErrBusy) || table.Transient(err))
		if err == nil || try >= tries || !repeat || !retry.Sleep(ctx, wait.Pause(random.Float64(ctx))) {
			return w, grant, err
		}
	}
}
