package waiter

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/ticket"
)

// take sends TAKE, each time with a new id, until it has a ticket, or until the record
// that refuses it shows an own id. ticketed reports whether it has a ticket. It returns
// ErrBusy if the caller will not wait and a live holder is in the way.
func (w *Waiter) take(ctx context.Context) (snapshot rows.Snapshot, ticketed bool, err error) {
	if err := w.readClock(ctx); err != nil {
		return rows.Snapshot{}, false, err
	}
	for {
		var rec serving.Record
		err := w.requests.send(ctx, w.series, "take a number", func(ctx context.Context) (err error) {
			a, entry := w.claimant.attempt(false)
			rec, err = serving.Take(ctx, w.cfg.Queue, entry, w.cfg.NoWait)
			a.unknown = err != nil && !errors.Is(err, serving.ErrRefused) && counter.MayHaveTaken(err)
			return err
		})
		switch {
		case err == nil:
			w.ticket = rec.TicketNumber
			snapshot := rows.SnapshotOf(rec)
			w.progress.record(w.ticket, snapshot, ticketsAhead(w.ticket, rec))
			return snapshot, true, nil
		case errors.Is(err, counter.ErrSeeded):
			continue // only the first use of a queue
		case !errors.Is(err, serving.ErrRefused):
			return rows.Snapshot{}, false, err
		}
		if a, _ := w.claimant.attempts.find(rec); a != nil {
			return rows.SnapshotOf(rec), false, nil
		}
		if !w.cfg.NoWait {
			continue // seeded by another client
		}
		if err := w.makeRoom(ctx, rec); err != nil {
			return rows.Snapshot{}, false, err
		}
	}
}

// readClock reads the record for the date of the answer, if DynamoDB's time is not known
// well enough: a TAKE without it would leave a lease that others must observe for its full
// length. It returns ErrBusy if the record is busy and the caller will not wait.
func (w *Waiter) readClock(ctx context.Context) error {
	var rec serving.Record
	read := false
	err := w.requests.send(ctx, w.series, "read the record for DynamoDB's time", func(ctx context.Context) (err error) {
		if !w.cfg.Queue.Clock().Stale(time.Now()) {
			return nil // the answer of a failed attempt had a date
		}
		rec, err = serving.Get(ctx, w.cfg.Queue)
		read = err == nil
		return err
	})
	if err != nil || !read || !w.cfg.NoWait || !occupied(rec, w.claimant.entry.Mode) {
		return err
	}
	return w.makeRoom(ctx, rec)
}

// occupied reports whether the holders of a record leave no room in that mode. TAKE must
// report any other reason.
func occupied(rec serving.Record, mode serving.Mode) bool {
	return rec.Present && rec.Fits(ticket.ScopeQueue, mode) == nil &&
		(!mode.Shared || rec.Shared) && !mode.Room(rec, len(rec.Holders))
}

// makeRoom evicts expired holders of a record that refused a caller which will not wait.
// It returns ErrBusy if another attempt cannot succeed.
func (w *Waiter) makeRoom(ctx context.Context, rec serving.Record) error {
	snapshot := rows.SnapshotOf(rec)
	mode := w.claimant.entry.Mode
	d := snapshot.Decide(w.cfg.Queue, w.cfg.Observer, rec.Floor(), mode, nil)
	w.progress.record(w.ticket, snapshot, 0)
	if len(d.ExpiredHolders) == 0 {
		return busy(rec, mode, d)
	}
	_, err := evict(ctx, w.cfg, d.ExpiredHolders)
	return err
}

// busy returns why the live holders leave no room; nil if the record, which may be later
// than the refusal, has room.
func busy(rec serving.Record, mode serving.Mode, d rows.Decision) error {
	if mode.Room(rec, d.Holders) {
		return nil
	}
	return cmp.Or(d.Stuck, ErrBusy)
}
