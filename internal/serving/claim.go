package serving

import (
	"context"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Claim serves ticket t, whose turn the caller believes it is. The grant is this one
// conditional write, never a read:
//
//	SET holders.#id = {ticket: t, …}, granted = t, holdMode = "exclusive"
//	if size(holders) = 0 AND granted < t AND servingAfter < t - 1 AND ticketNumber >= t
//
// A shared or semaphore's claim asks for room in place of the first condition. The last
// one refuses a ticket of an earlier record, which was deleted: granted would be above the
// counter, and no TAKE would be made any more. If it is refused and the caller's own id is
// in the record, an earlier answer was lost. After another error the caller looks for the
// id, or removes it.
func Claim(ctx context.Context, q table.Queue, e Entry, t ticket.Number) (Record, error) {
	return grant(ctx, q, e.claim(t))
}

// Resume replaces the holder old by the entry, for a process that continues a lock of
// a process that has ended. Ticket and mode stay. The old id can then neither renew
// the lease nor pass the fence. For an exclusive holder it asks that no later ticket was
// granted, and that the lock was not downgraded. If it is refused and the caller's own id
// is in the record, an earlier answer was lost.
func Resume(ctx context.Context, q table.Queue, old Holder, e Entry) (Record, error) {
	return grant(ctx, q, e.resume(old, markEvicted(q, old)))
}
