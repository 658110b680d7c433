package session

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// settleLimit limits the requests that settle a transaction after its caller has given up,
// and settleTimeout those of a caller that waits for them.
const (
	settleLimit   = time.Second
	settleTimeout = 30 * time.Second
)

// settle asks the table whether the transaction was made, and prevents it from being made
// later. MadeYes reports that all writes are visible. The transaction is the last of those
// sessions, one of which is enough. Their turnstiles are held.
func (t *transaction) settle(ctx context.Context, sessions ...*Session) serving.Made {
	for _, s := range sessions {
		switch made := s.askMade(ctx); {
		case made == serving.MadeYes && t.visible(ctx), made == serving.MadeNever:
			return made
		case made == serving.MadeYes:
			return serving.MadeUnknown
		}
	}
	return serving.MadeUnknown
}

// askMade asks the record about the last transaction, and uses its number. The turnstile is
// held.
func (s *Session) askMade(ctx context.Context) (made serving.Made) {
	transient := table.Retryable
	transient.Timeout = settleTimeout
	_ = transient.Do(ctx, func(ctx context.Context) (err error) {
		var rec serving.Record
		made, rec, err = serving.Settle(ctx, s.config.Queue, s.grant.ID, s.grant.Ticket, s.last.number)
		if made == serving.MadeUnknown && err == nil {
			_ = s.fenced(rec)
		}
		return err
	})
	return made
}

// errUnsettled reports that an earlier transaction may still be made or become visible.
var errUnsettled = errors.New("an earlier transaction of the lock had no answer, and may still be made or become visible")

// settle settles the last transaction if it had no answer. The turnstile is held.
func (s *Session) settle(ctx context.Context) error {
	if s.last.state != unsettled {
		return nil
	}
	if s.last.tx.settle(ctx, s) == serving.MadeUnknown {
		return cmp.Or(s.Err(), errUnsettled)
	}
	s.last.state = settled
	return nil
}

// settleTransactions waits for a transaction under way, and settles one that had no answer,
// because a later holder would not see its writes. It returns an error if that fails. No
// transaction begins until resume is called. resume is nil if a transaction outlasted ctx.
func (s *Session) settleTransactions(ctx context.Context) (resume func(), err error) {
	if err := s.transacts.Lock(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	return s.transacts.Unlock, s.settle(ctx)
}
