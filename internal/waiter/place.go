package waiter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

var (
	// errInactive ends the renewals of a row whose waiter is stuck.
	errInactive = errors.New("the waiter has not looked at the queue for too long")
	errSwept    = errors.New("the queue row is gone")
	errLeft     = errors.New("the waiter has left the queue")
)

// place keeps the waiter's row in the table: it plays a queue.Place. It has a goroutine while a request is under way, before one
// is repeated, and while the waiter of a row that has ended is inactive, and none while the row is in the table.
type place struct {
	cfg    *Config // the waiter's
	local  *handover.Waiter
	ctx    context.Context // with the caller's values; it does not end
	places *sync.WaitGroup // that the row is deleted

	mu       sync.Mutex         // guards the fields below
	machine  queue.Place        // of the row
	unhook   func() bool        // from the caller's context
	stop     context.CancelFunc // ends run when the row is to be deleted; nil before the first
	keeper   *heartbeat.Keeper  // nil before the row was put
	renewals *heartbeat.Renewals
	row      *queue.Waiter // of the machine; what never changes may be read without mu

	inserted  chan struct{} // closed when the row was put for the first time
	failed    chan struct{} // closed when the row cannot be put, with the reason in err
	err       error         // written before failed is closed
	undeleted error         // why the row could not be deleted; set when it is over
}

// startPlace starts to put the waiter's row and to keep it until ctx ends. cancel must be called in the end.
func (w *Waiter) startPlace(ctx context.Context, local *handover.Waiter) *place {
	p := &place{
		cfg: w.cfg, local: local, places: &w.places, ctx: random.Fork(context.WithoutCancel(ctx)),
		inserted: make(chan struct{}), failed: make(chan struct{}),
	}
	row, from := queue.Waiter{Ticket: w.wait.Ticket, Owner: w.cfg.Entry.Owner, Shared: w.Mode().Shared, Group: w.cfg.Policy.Group}, ""
	if w.cfg.Policy.Limited {
		row.MaxWaiters = w.cfg.Policy.Waiters
	}
	if w.cfg.Passing.Named {
		row.EntryID = w.wait.PassID()
	}
	row.Bell = w.bell.Text()
	if w.cfg.Resume != nil {
		from = w.cfg.Resume.ID
	}
	p.machine = queue.NewPlace(&w.cfg.Queue.Items, row, w.wait.Config.ID, from)
	p.row = &p.machine.Row
	w.places.Add(1)
	p.mu.Lock()
	p.unhook = context.AfterFunc(ctx, func() { p.end(queue.PlaceEnd) })
	p.mu.Unlock()
	if ctx.Err() == nil { // else it ends at once
		p.follow(queue.PlaceTodo{Do: queue.PlaceAgain})
	}
	return p
}

// cancel deletes the row in the background.
func (p *place) cancel() { p.end(queue.PlaceLeave) }

// hold keeps the row beyond the end of the caller's context, until cancel. It returns false if that has ended: the row is
// being deleted.
func (p *place) hold() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Hold()
}

// below says whether the ticket is at or below the floor, as the waiter last saw it.
func (p *place) below(floor bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.machine.Below(floor)
}

// sent returns when the first request was sent that wrote a lease of the row with that end.
func (p *place) sent(until time.Time) (at time.Time, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Sent(until)
}

// step is one of the machine.
func (p *place) step(e queue.PlaceEvent) queue.PlaceTodo {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Step(e)
}

// end deletes the row once the request under way has ended: a heartbeat at once, and ENQUEUE with its answer.
func (p *place) end(why queue.PlaceEventKind) {
	p.mu.Lock()
	left := p.machine.Left()
	todo := p.machine.Step(queue.PlaceEvent{Is: why})
	if left == p.machine.Left() {
		p.mu.Unlock()
		return
	}
	if p.stop != nil {
		p.stop()
	}
	if p.keeper != nil {
		go p.keeper.Stop()
	}
	p.unhook()
	p.mu.Unlock()
	p.local.Leave()
	p.follow(todo)
}

// follow does what follows from a step, in the background.
func (p *place) follow(todo queue.PlaceTodo) {
	if todo.Do != queue.PlaceWait {
		go p.run(todo)
	}
}

// run does what follows from a step, until there is nothing to do before another event.
func (p *place) run(todo queue.PlaceTodo) {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	p.mu.Lock()
	p.stop = cancel
	if p.machine.Left() {
		cancel()
	}
	p.mu.Unlock()
	var err error // of the last request
	var sent time.Time
	attempts := table.Retryable.Within(p.cfg.RetryTimeout)
	attempts.OnRetry = func(err error) {
		p.cfg.Log.Debug("queuelock: a row was not put", "queue", p.cfg.Queue.String(), "ticket", p.row.Ticket, "error", err)
	}
	for {
		switch todo.Do {
		case queue.PlaceSend:
			var answer queue.PlaceEvent
			answer, err = p.request(ctx, todo.Write)
			if todo = p.step(answer); todo.First {
				close(p.inserted)
				p.local.RowInserted()
			}
		case queue.PlaceRetry:
			if !attempts.Again(ctx, err) {
				todo = p.step(queue.PlaceEvent{Is: queue.PlaceGiveUp})
				continue
			}
			todo, sent = p.put()
		case queue.PlaceAgain:
			p.awaitActive(ctx)
			todo, sent = p.put()
		case queue.PlaceKeep:
			p.keep(todo, sent)
			return
		case queue.PlaceFail:
			p.err = err
			close(p.failed)
			return
		case queue.PlaceOver:
			p.undeleted = err
			p.local.RowDeleted()
			p.places.Done()
			return
		default:
			return
		}
	}
}

func (p *place) put() (todo queue.PlaceTodo, sent time.Time) {
	sent = time.Now()
	e := queue.PlaceEvent{Is: queue.PlacePut, Sent: sent}
	e.Lease, e.CreatedAt = p.cfg.Row.Begin(p.cfg.Queue.Clock(), sent)
	if e.CreatedAt.IsZero() {
		e.CreatedAt = sent
	}
	return p.step(e), sent
}

// request sends ENQUEUE, or the delete.
func (p *place) request(ctx context.Context, w clause.Write) (answer queue.PlaceEvent, err error) {
	answer.Is = queue.PlaceReply
	if w.Kind == clause.Delete {
		err = detached(ctx, p.cfg.Queue, func(ctx context.Context, q table.Queue) error {
			answer.Reply, _, err = rows.Send(ctx, q, p.row.Ticket, w)
			return err
		})
		if err != nil {
			p.cfg.Log.Warn("queuelock: a queue row could not be deleted; its lease will end it",
				"queue", p.cfg.Queue.String(), "ticket", p.row.Ticket, "ttl", p.cfg.Row.TTL, "error", err)
		}
		return answer, err
	}
	ctx, cancel := retry.Outlive(ctx, answerGrace)
	defer cancel()
	answer.Reply, answer.ID, err = rows.Send(ctx, p.cfg.Queue, p.row.Ticket, w)
	if answer.Reply == queue.ReplyLost {
		err = ErrNewTicket // another row has the ticket
	}
	return answer, err
}

// keep begins to renew the row's lease, unless the row is to be deleted by now.
func (p *place) keep(todo queue.PlaceTodo, sent time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.machine.Left() {
		return
	}
	terms := p.cfg.Row
	p.renewals = heartbeat.NewRenewals(terms, p.cfg.Queue.Clock(), p.row.Lease)
	c := heartbeat.Config{TTL: terms.TTL, Interval: terms.Interval, Margin: terms.Margin, Spread: heartbeat.Spread}
	if todo.Fresh {
		c.First = c.Interval
	}
	c.OnLoss = func(loss *heartbeat.LossError) { go p.lost(loss) }
	p.keeper = heartbeat.Start(p.ctx, sent, c, p.renew)
}

// lost puts the row again, after the end of the heartbeat under way.
func (p *place) lost(loss error) {
	p.mu.Lock()
	keeper := p.keeper
	p.mu.Unlock()
	keeper.Stop()
	todo := p.step(queue.PlaceEvent{Is: queue.PlaceLost})
	if todo.Do == queue.PlaceWait {
		return
	}
	p.cfg.Log.Warn("queuelock: a waiter lost its row and puts it again",
		"queue", p.cfg.Queue.String(), "ticket", p.row.Ticket, "cause", loss)
	p.run(todo)
}

// stuckGrace is how long a waiter whose row has ended may still become active, as after a pause of its process.
const stuckGrace = 2 * time.Second

// awaitActive waits until the waiter is active, or the row is to be deleted.
func (p *place) awaitActive(ctx context.Context) {
	if p.local.Active() {
		return
	}
	stuck := time.After(stuckGrace)
	for !p.local.Active() {
		select {
		case <-p.local.Reactivated():
		case <-stuck:
			if p.cfg.Several.Stuck != nil {
				p.cfg.Several.Stuck()
			}
		case <-ctx.Done():
			return
		}
	}
}

// renew sends a heartbeat of the row unless the waiter is stuck: it would block all waiters behind it.
func (p *place) renew(ctx context.Context) error {
	if !p.local.Active() {
		return errInactive
	}
	sent := time.Now()
	todo := p.step(queue.PlaceEvent{Is: queue.PlaceRenew, Sent: sent, Lease: queue.Lease{Until: p.renewals.Next(sent)}})
	if todo.Do != queue.PlaceSend {
		return errLeft
	}
	reply, _, err := rows.Send(ctx, p.cfg.Queue, p.row.Ticket, todo.Write)
	p.follow(p.step(queue.PlaceEvent{Is: queue.PlaceReply, Reply: reply}))
	if reply == queue.ReplyLost {
		return fmt.Errorf("%w: %w", heartbeat.ErrEvicted, errSwept)
	}
	return err
}
