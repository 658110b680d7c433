package waiter

import (
	"context"
	"errors"
	"sync"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/ticket"
)

// place keeps the waiter's row in the table. One goroutine sends all requests for it, so
// that no heartbeat, second ENQUEUE or delete is sent while an ENQUEUE is unanswered.
type place struct {
	row    *row
	local  *localqueue.Waiter
	cancel context.CancelFunc

	once     sync.Once
	inserted chan struct{} // closed when the row was put for the first time
	failed   chan struct{} // closed when the row cannot be put, with the reason in err
	err      error         // written before failed is closed

	undeleted error // why the row could not be deleted; set when keep has returned

	mu    sync.Mutex
	floor ticket.Number // guarded by mu; as the waiter last saw it
}

// startPlace starts to put the row and to keep it until ctx ends, in the group. leave must
// be called in the end.
func startPlace(ctx context.Context, row *row, local *localqueue.Waiter, group *sync.WaitGroup) *place {
	ctx, cancel := context.WithCancel(random.Fork(ctx))
	p := &place{row: row, local: local, cancel: cancel, inserted: make(chan struct{}), failed: make(chan struct{})}
	group.Go(func() { p.keep(ctx) })
	return p
}

// leave deletes the row in the background.
func (p *place) leave() { p.cancel() }

// sawFloor records the floor: a row at or below it is not put again.
func (p *place) sawFloor(floor ticket.Number) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.floor = floor
}

func (p *place) belowFloor() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.row.value.Ticket.Compare(p.floor) <= 0
}

// keep puts the row, renews it, puts it again if it was swept or if the waiter was
// inactive, and deletes it when ctx ends.
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
		p.row.log.Warn("queuelock: a waiter lost its row and puts it again", "queue", p.row.queue.String(), "ticket", p.row.value.Ticket, "cause", lost)
		if !p.reactivated(ctx) {
			break
		}
		if errors.Is(lost, rows.ErrGone) && p.belowFloor() {
			return
		}
	}
	<-ctx.Done() // after a failure, until the waiter leaves
	p.local.Leave()
	p.undeleted = p.row.delete(ctx)
}

// occupy puts the row and renews it until ctx ends, or until it is lost for the reason
// that is returned. err reports that the row could not be put.
func (p *place) occupy(ctx context.Context) (lost, err error) {
	sent, fresh, err := p.row.put(ctx)
	if err != nil {
		return nil, err
	}
	p.once.Do(func() {
		close(p.inserted)
		p.local.RowInserted()
	})
	keeper := heartbeat.Start(ctx, sent, p.row.heartbeat(fresh), p.renew)
	select {
	case <-ctx.Done():
	case <-keeper.Lost():
	}
	keeper.Stop()
	return keeper.Err(), nil
}

// reactivated waits until the waiter is active. It returns false if ctx ends first.
func (p *place) reactivated(ctx context.Context) bool {
	for !p.local.Active() {
		select {
		case <-p.local.Reactivated():
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// errInactive ends the renewals of a row whose waiter is stuck.
var errInactive = errors.New("the waiter has not looked at the queue for too long")

// renew sends a heartbeat of the row if the waiter is active: the row of a stuck waiter
// would block all waiters behind it.
func (p *place) renew(ctx context.Context) error {
	if !p.local.Active() {
		return errInactive
	}
	return p.row.renew(ctx)
}

// problem returns why the place has failed.
func (p *place) problem() error {
	if errors.Is(p.err, rows.ErrTaken) {
		return ErrNewTicket // another row has the ticket
	}
	return p.err
}
