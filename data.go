package queuelock

import (
	"context"
	"fmt"

	"github.com/queuelock/queuelock/internal/serving"
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
	return l.session.SetData(ctx, data)
}
