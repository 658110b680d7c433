package waiter

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// errInactive ends the renewals of a row whose waiter is stuck.
var errInactive = errors.New("the waiter has not looked at the queue for too long")

// place keeps the waiter's row in the table. One goroutine sends all requests for it, so that no heartbeat, second
// ENQUEUE or delete is sent while an ENQUEUE is unanswered.
type place struct {
	cfg    *Config // the waiter's
	local  *localqueue.Waiter
	cancel context.CancelFunc // deletes the row in the background

	prefix   string // of the row's ids
	row      queue.Waiter
	from     string   // prefix of the id of the row that is resumed; empty after that
	ids      []string // of all attempts; ENQUEUE of all but the last may arrive late
	renewals *heartbeat.Renewals
	ends     ends        // of its lease
	unhook   func() bool // see hold; nil if the row is not to be named

	inserted   chan struct{} // closed when the row was put for the first time
	failed     chan struct{} // closed when the row cannot be put, with the reason in err
	err        error         // written before failed is closed
	undeleted  error         // why the row could not be deleted; set when keep has returned
	belowFloor atomic.Bool   // as the waiter last saw it: the row is not put again
}

// startPlace starts to put the waiter's row and to keep it until ctx ends. cancel must be called in the end.
func (w *Waiter) startPlace(ctx context.Context, local *localqueue.Waiter) *place {
	caller := ctx
	if w.nameable() {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancel(random.Fork(ctx))
	p := &place{
		cfg: w.cfg, local: local, cancel: cancel, prefix: w.wait.Config.ID,
		row:      queue.Waiter{Ticket: w.wait.Ticket, Owner: w.cfg.Entry.Owner, Shared: w.Mode().Shared},
		inserted: make(chan struct{}), failed: make(chan struct{}),
	}
	if w.nameable() {
		p.row.EntryID = w.wait.NameID()
		p.unhook = context.AfterFunc(caller, cancel)
	}
	if w.cfg.Resume != nil {
		p.from = w.cfg.Resume.ID
	}
	w.places.Go(func() { p.keep(ctx) })
	return p
}

// hold keeps the row beyond the end of the caller's context, until cancel. It returns false if that has ended: the row is
// being deleted.
func (p *place) hold() bool {
	p.belowFloor.Store(true)
	return p.unhook()
}

// keep puts the row, again if it was swept or if the waiter was inactive, and deletes it when ctx ends.
func (p *place) keep(ctx context.Context) {
	defer p.local.RowDeleted()
	for {
		lost, err := p.occupy(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			p.err = err
			close(p.failed)
			break
		}
		p.cfg.Log.Warn("queuelock: a waiter lost its row and puts it again",
			"queue", p.cfg.Queue.String(), "ticket", p.row.Ticket, "cause", lost)
		if !p.reactivated(ctx) {
			break
		}
		if errors.Is(lost, rows.ErrGone) && p.belowFloor.Load() {
			return
		}
	}
	<-ctx.Done() // after a failure, until the waiter leaves
	p.local.Leave()
	p.undeleted = p.delete(ctx)
}

// occupy puts the row and renews it until ctx ends, or until it is lost for the reason that is returned. err
// reports that the row could not be put.
func (p *place) occupy(ctx context.Context) (lost, err error) {
	again := p.renewals != nil
	sent, fresh, err := p.put(ctx)
	if errors.Is(err, rows.ErrTaken) {
		return nil, ErrNewTicket // another row has the ticket
	} else if err != nil {
		return nil, err
	}
	if !again {
		close(p.inserted)
		p.local.RowInserted()
	}
	terms := p.cfg.Row
	c := heartbeat.Config{TTL: terms.TTL, Interval: terms.Interval, Margin: terms.Margin, Spread: heartbeat.Spread}
	if fresh {
		c.First = c.Interval
	}
	keeper := heartbeat.Start(ctx, sent, c, p.renew)
	select {
	case <-ctx.Done():
	case <-keeper.Lost():
	}
	keeper.Stop()
	return keeper.Err(), nil
}

// put sends ENQUEUE until it is answered, each time with a new id. sent is of the answered request. fresh reports
// that it was the first, so that the row in the table is not an older one.
func (p *place) put(ctx context.Context) (sent time.Time, fresh bool, err error) {
	if ctx.Err() != nil {
		return sent, false, ctx.Err()
	}
	repeated := table.Retryable.Within(p.cfg.RetryTimeout)
	repeated.Grace = answerGrace
	repeated.OnRetry = func(err error) {
		p.cfg.Log.Debug("queuelock: a row was not put", "queue", p.cfg.Queue.String(), "ticket", p.row.Ticket, "error", err)
	}
	err = repeated.Do(ctx, func(ctx context.Context) (err error) {
		sent, fresh, err = p.enqueue(ctx)
		return err
	})
	if err == nil {
		p.from = ""
		p.renewals = heartbeat.NewRenewals(p.cfg.Row, p.cfg.Queue.Clock(), p.row.Lease)
	}
	return sent, fresh, err
}

func (p *place) enqueue(ctx context.Context) (sent time.Time, fresh bool, err error) {
	sent = time.Now()
	id := fmt.Sprintf("%s-r%d-%s", p.prefix, len(p.ids), p.row.Ticket)
	p.row.ID = id
	p.row.Lease, p.row.CreatedAt = p.cfg.Row.Begin(p.cfg.Queue.Clock(), sent)
	p.ends.add(p.row.Lease.Until, sent, p.cfg.Row.TTL)
	if p.row.CreatedAt.IsZero() {
		p.row.CreatedAt = sent
	}
	earlier := p.ids
	p.ids = append(p.ids, id)
	var present string
	if p.from != "" {
		present, err = rows.Resume(ctx, p.cfg.Queue, p.row, p.from, earlier...)
	} else {
		present, err = rows.Enqueue(ctx, p.cfg.Queue, p.row, earlier...)
	}
	if err == nil {
		p.row.ID = present
	}
	return sent, err == nil && present == id && len(earlier) == 0, err
}

// stuckGrace is how long a waiter whose row has ended may still become active, as after a pause of its process.
const stuckGrace = 2 * time.Second

// reactivated waits until the waiter is active. It returns false if ctx ends first.
func (p *place) reactivated(ctx context.Context) bool {
	stuck := time.After(stuckGrace)
	for !p.local.Active() {
		select {
		case <-p.local.Reactivated():
		case <-stuck:
			if p.cfg.Several.Stuck != nil {
				p.cfg.Several.Stuck()
			}
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// renew sends a heartbeat of the row unless the waiter is stuck: it would block all waiters behind it.
func (p *place) renew(ctx context.Context) error {
	if !p.local.Active() {
		return errInactive
	}
	sent := time.Now()
	until := p.renewals.Next(sent)
	p.ends.add(until, sent, p.cfg.Row.TTL)
	err := rows.Heartbeat(ctx, p.cfg.Queue, p.row, until)
	if errors.Is(err, rows.ErrGone) {
		return fmt.Errorf("%w: %w", heartbeat.ErrEvicted, err)
	}
	return err
}

// delete deletes the row with any of its ids, even if no ENQUEUE was answered.
func (p *place) delete(ctx context.Context) error {
	if len(p.ids) == 0 {
		return nil
	}
	err := detached(ctx, p.cfg.Queue, func(ctx context.Context, q table.Queue) error {
		return rows.Leave(ctx, q, p.row, p.ids...)
	})
	if err != nil {
		p.cfg.Log.Warn("queuelock: a queue row could not be deleted; its lease will end it",
			"queue", p.cfg.Queue.String(), "ticket", p.row.Ticket, "ttl", p.cfg.Row.TTL, "error", err)
	}
	return err
}
