package waiter

import (
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Acquire runs a Waiter, and under waitpolicy.Attempts one after the other, each
// without a place in the queue and with ids of its own: one that was left is
// never adopted again. It returns the last. A busy lock and a table that does
// not answer are tried again; any other error ends it, and so do ctx and an Orphan.
func Acquire(ctx context.Context, c Config, wait waitpolicy.Wait) (*Waiter, Grant, error) {
	tries, _ := wait.Tries()
	for try := 1; ; try++ {
		w := New(c)
		grant, err := w.Run(ctx, tries > 0)
		if err == nil || try >= tries || w.orphan != nil || !errors.Is(err, ErrBusy) && !table.Transient(err) {
			return w, grant, err
		}
		timer := time.NewTimer(wait.Pause(random.Float64(ctx)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return w, Grant{}, err
		}
	}
}
