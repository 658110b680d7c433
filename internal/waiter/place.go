package waiter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/grace"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// place is the waiter's row and all that is written to it. One goroutine makes
// every request for it, one after the other, so that no heartbeat, second
// enqueue or delete is ever sent while an enqueue is unanswered.
type place struct {
	w        *Waiter
	spot     *localqueue.Waiter
	row      rows.Row
	from     string   // of the row to be resumed; empty once it was, or if there is none
	ids      []string // ids of rows put so far; all but the last may be late
	renewals *lease.Renewals
	cancel   context.CancelFunc

	stands chan struct{} // closed when the row first stood
	failed chan struct{} // closed when it cannot be put or kept, for the reason err
	err    error         // written before failed is closed

	undeleted error // why the row could not be deleted, once all places have ended

	mu    sync.Mutex
	floor ticket.Number // guarded by mu; as the waiter last saw it
}

// enqueue starts to put the waiter's row, and to keep it until ctx ends: a waiter
// that is stuck does not keep it for longer. leave must be called in the end.
func (w *Waiter) enqueue(ctx context.Context, spot *localqueue.Waiter) *place {
	ctx, cancel := context.WithCancel(random.Fork(ctx))
	p := &place{
		w: w, spot: spot, cancel: cancel, stands: make(chan struct{}), failed: make(chan struct{}),
		row: rows.Row{Ticket: w.ticket, Owner: w.Owner, Mode: w.Mode.String()},
	}
	if w.Resume != nil {
		p.from = w.Resume.ID
	}
	w.places.Go(func() { p.keep(ctx) })
	return p
}

// leave ends the keeping of the row and deletes it, in the background.
func (p *place) leave() { p.cancel() }

// sawFloor tells the place how high the floor is: a row below it is not put
// again.
func (p *place) sawFloor(floor ticket.Number) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.floor = floor
}

func (p *place) belowFloor() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.row.Ticket.Compare(p.floor) <= 0
}

// keep puts the row, renews it, puts it again if it was swept or if its lease
// ended while the waiter was unattended, and deletes it when ctx ends.
func (p *place) keep(ctx context.Context) {
	defer p.spot.Deleted()
	w, stands := p.w, false
	for {
		sent, fresh, err := p.put(ctx)
		if err != nil {
			if ctx.Err() == nil {
				p.err = err
				close(p.failed)
			}
			break
		}
		c := heartbeat.Config{TTL: w.Waiter.TTL, Interval: w.Waiter.Interval, Margin: w.Waiter.Margin, Spread: lease.Spread}
		if fresh {
			c.First = c.Interval
		}
		if !stands {
			stands = true
			close(p.stands)
			p.spot.Stand()
		}
		p.renewals = lease.NewRenewals(w.Waiter, w.Queue.Clock(), p.row.Lease)
		keeper := heartbeat.Start(ctx, sent, c, p.renew)
		select {
		case <-ctx.Done():
		case <-keeper.Lost():
		}
		keeper.Stop()
		if ctx.Err() != nil {
			break
		}
		w.Log.Warn("queuelock: a waiter lost its row and puts it again", "queue", w.Queue.String(), "ticket", p.row.Ticket, "cause", keeper.Err())
		if !p.returned(ctx) {
			break
		}
		if errors.Is(keeper.Err(), rows.ErrGone) && p.belowFloor() {
			return
		}
	}
	<-ctx.Done() // after a failure, until the waiter leaves
	p.spot.Leave()
	p.delete(ctx)
}

// returned waits until the waiter is attended. It returns false if ctx ends before.
func (p *place) returned(ctx context.Context) bool {
	for !p.spot.Attended() {
		select {
		case <-p.spot.Back():
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// put sends ENQUEUE until it is answered, each time with a new id, and returns
// when the one that was answered was sent. fresh says that it was the first:
// otherwise the row that stands may be an earlier one's, and older.
func (p *place) put(ctx context.Context) (sent time.Time, fresh bool, err error) {
	w := p.w
	for retries := retry.For(w.Patience); ; {
		if ctx.Err() != nil {
			return sent, false, ctx.Err()
		}
		sent = time.Now()
		p.row.ID = fmt.Sprintf("%s-r%d-%s", w.prefix, len(p.ids), p.row.Ticket)
		p.row.Lease, p.row.CreatedAt = w.Waiter.Begin(w.Queue.Clock(), sent)
		if p.row.CreatedAt.IsZero() {
			p.row.CreatedAt = sent
		}
		earlier := p.ids
		p.ids = append(p.ids, p.row.ID)
		patient, cancel := grace.Context(ctx, answerGrace)
		var id string
		if p.from != "" {
			id, err = rows.Resume(patient, w.Queue, p.row, p.from, earlier...)
		} else {
			id, err = rows.Enqueue(patient, w.Queue, p.row, earlier...)
		}
		cancel()
		if err == nil {
			p.from = ""
			fresh = id == p.row.ID && len(earlier) == 0
			p.row.ID = id
			return sent, fresh, nil
		}
		w.Log.Debug("queuelock: a row was not put", "queue", w.Queue.String(), "ticket", p.row.Ticket, "error", err)
		if !table.Transient(err) || !retries.Pause(ctx) {
			return sent, false, err
		}
	}
}

// errUnattended ends the renewals of a row whose waiter is stuck.
var errUnattended = errors.New("the waiter has not looked at the queue for too long")

// renew sends a heartbeat of the row, only if the waiter is attended: a row that
// outlives its waiter's looks would block every waiter behind it.
func (p *place) renew(ctx context.Context) error {
	if !p.spot.Attended() {
		return errUnattended
	}
	err := rows.Heartbeat(ctx, p.w.Queue, p.row, p.renewals.Next(time.Now()))
	if errors.Is(err, rows.ErrGone) {
		return fmt.Errorf("%w: %w", heartbeat.ErrEvicted, err)
	}
	return err
}

// delete removes the row, by whichever of its ids it stands, also if no enqueue
// was answered. If that fails, the row's lease ends it.
func (p *place) delete(ctx context.Context) {
	if len(p.ids) == 0 {
		return
	}
	err := p.w.retried(ctx, func(ctx context.Context) error { return rows.Leave(ctx, p.w.Queue, p.row, p.ids...) })
	if p.undeleted = err; err != nil {
		p.w.Log.Warn("queuelock: a queue row could not be deleted; its lease will end it",
			"queue", p.w.Queue.String(), "ticket", p.row.Ticket, "ttl", p.w.Waiter.TTL, "error", err)
	}
}
