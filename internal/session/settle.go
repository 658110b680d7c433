package session

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

const (
	settleLimit   = time.Second      // of settling a transaction after its caller has given up
	settleTimeout = 30 * time.Second // of settling while a caller waits for it
)

// transactions are those of one session. The turnstile lets one at a time through, and guards last.
type transactions struct {
	*life
	turnstile
	last *transaction
}

// leave records the state of the last one. The turnstile is held.
func (t *transactions) leave(state queue.TransactionState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hold.Leave(state)
}

// made returns what a record says of the last one.
func (t *transactions) made(rec queue.Record) queue.Made {
	return of(t.life, func(h *queue.Hold) queue.Made { return h.Made(rec) })
}

// ask asks the record about the last one, and uses its number.
func (t *transactions) ask(ctx context.Context) (made queue.Made) {
	w := of(t.life, (*queue.Hold).Settle)
	_ = table.Retryable.Within(settleTimeout).Do(ctx, func(ctx context.Context) error {
		rec, reply, err := serving.Send(ctx, t.config.Queue, w)
		switch {
		case reply == queue.ReplyApplied:
			made = queue.MadeNever
		case errors.Is(err, serving.ErrRefused):
			if made, err = t.made(rec), nil; made == queue.MadeUnknown {
				_ = t.fenced(rec)
			}
		}
		return err
	})
	return made
}

// errUnsettled reports that an earlier transaction may still be made or become visible.
var errUnsettled = errors.New("an earlier transaction of the lock may still be made or become visible")

// settle settles the last one if its state is that or worse. The turnstile is held.
func (t *transactions) settle(ctx context.Context, state queue.TransactionState) error {
	if of(t.life, (*queue.Hold).Left) < state {
		return nil
	}
	if t.last.settle(ctx, t) == queue.MadeUnknown {
		t.leave(queue.TransactionUnsettled) // it may have used the number
		return cmp.Or(t.Err(), errUnsettled)
	}
	t.leave(queue.TransactionSettled)
	return nil
}

// finish waits for the one under way, and settles it if its state is that or worse, because
// other holders would not see its writes. None begins until resume is called. resume is nil if
// one outlasted ctx.
func (t *transactions) finish(ctx context.Context, state queue.TransactionState) (resume func(), err error) {
	if err := t.Lock(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if resume == nil { // the DynamoDB client has panicked
			t.Unlock()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	err = t.settle(ctx, state)
	return t.Unlock, err
}
