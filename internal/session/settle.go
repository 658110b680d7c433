package session

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// settleLimit bounds the requests that end the doubt about a transaction, after its
// caller has given up.
const settleLimit = time.Second

// settlePatience bounds the same requests of a caller that waits for them.
const settlePatience = 30 * time.Second

// settle asks the table whether the transaction was made, and keeps it from being made
// later. It reports whether that is known and all that was made is visible. It must be
// the last of those sessions, one of which is enough. Their turnstiles are held.
func (t *transaction) settle(ctx context.Context, sessions ...*Session) (made, ok bool) {
	for _, s := range sessions {
		switch s.askMade(ctx) {
		case serving.MadeYes:
			return true, t.visible(ctx)
		case serving.MadeNever:
			return false, true
		}
	}
	return false, false
}

// askMade asks the record about the last transaction, and uses its number up. The
// turnstile is held.
func (s *Session) askMade(ctx context.Context) (made serving.Made) {
	transient := table.Retryable
	transient.Timeout = settlePatience
	_ = transient.Do(ctx, func(ctx context.Context) (err error) {
		var rec serving.Record
		made, rec, err = serving.Settle(ctx, s.config.Queue, s.grant.ID, s.grant.Ticket, s.transactions.last.number)
		if made == serving.MadeUnknown && err == nil {
			_ = s.fenced(rec)
		}
		return err
	})
	return made
}

// errUnsettled says that an earlier transaction of a lock may still be made, or become
// visible.
var errUnsettled = errors.New("an earlier transaction of the lock had no answer, and may still be made or become visible")

// settle settles the last transaction if it had no answer. The turnstile is held. Nil
// says that none is left.
func (s *Session) settle(ctx context.Context) error {
	last := &s.transactions.last
	if last.state != unsettled {
		return nil
	}
	if _, ok := last.tx.settle(ctx, s); !ok {
		return cmp.Or(s.Err(), errUnsettled)
	}
	last.state = settled
	return nil
}

// settleTransactions waits for a transaction under way and settles one that had no
// answer: a later holder would not see what it has yet to make visible. If it cannot be
// settled it returns an error, and the mark of a release says so. No transaction begins
// until resume is called. resume is nil if a transaction outlasted ctx.
func (s *Session) settleTransactions(ctx context.Context) (resume func(), err error) {
	if err := s.transactions.turnstile.Lock(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	return s.transactions.turnstile.Unlock, s.settle(ctx)
}
