package queuelock

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// SetData replaces the lock's data, WithData's or that of an earlier SetData;
// nil removes it. At most as many bytes as WithData. It is written only while the lock is
// held, whatever the caller's clock says, and does not renew the lease.
//
// Calls take effect in the order in which they began: one that is late on its
// way, or arrives twice, never overwrites a later one's. nil says that the data
// was written, and stands unless a later call has replaced it. An error that
// matches ErrLost says that the lock was lost, and ErrReleased that it was
// released: its data is gone with it. Of data that is too large nothing is
// sent. Any other error is the table's, or that of ctx: the data may have been
// written, or may yet be, while the lock is held and no later call was made.
// Calling again is safe.
//
// One request. Conflicts with transactions, throttles and lost answers are
// retried until ctx or the lock ends.
func (l *Lock) SetData(ctx context.Context, data []byte) error {
	most := l.maxData
	if l.Shared() {
		most = min(most, serving.MaxSharedData) // also since Downgrade
	}
	if err := validData("SetData", data, most); err != nil {
		return fmt.Errorf("queuelock: %w", err)
	}
	if err := l.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	l.dataSet++
	n := l.dataSet
	l.mu.Unlock()
	data = bytes.Clone(data)
	held, cancel := l.within(ctx)
	defer cancel()
	for retries := retry.For(0); ; {
		rec, err := serving.SetData(held, l.queue, l.id, l.ticket, n, data)
		switch {
		case err == nil:
			l.saw(rec)
			return nil
		case errors.Is(err, serving.ErrRefused):
			return l.fenced(rec)
		case !table.Transient(err) || !retries.Pause(held):
			return fmt.Errorf("queuelock: %s: set data: %w", l.key, errors.Join(err, ctx.Err(), l.Err()))
		}
	}
}
