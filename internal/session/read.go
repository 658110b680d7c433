package session

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// Get reads items that the lock protects in one TransactGetItems, which conflicts with
// a transaction that is still being committed. It returns the reason if the session has
// ended. One request, repeated until ctx or the session ends.
func (s *Session) Get(ctx context.Context, items []types.TransactGetItem) (read []table.Item, err error) {
	if err := s.Err(); err != nil {
		return nil, err
	}
	held, cancel := s.Within(ctx)
	defer cancel()
	err = retry.Policy{Retryable: transient}.Do(held, func(ctx context.Context) (err error) {
		read, err = s.config.Queue.TransactGet(ctx, items)
		return err
	})
	if err != nil {
		return nil, s.failed(ctx, "get", err)
	}
	return read, s.Err()
}

// transient reports whether a transaction that failed with err may succeed later.
func transient(err error) bool {
	return table.RetryableReasons(table.Reasons(err)) || table.Transient(err)
}

// unsettledFor is how long DynamoDB may take to finish a transaction whose sender is gone.
// DynamoDB documents no limit; a recovery takes seconds.
const unsettledFor = time.Minute

// Unsettled reports whether a fenced transaction of an earlier turn may become visible
// while this lock is held. It makes no request.
func (s *Session) Unsettled() bool {
	eviction, evicted, previous := s.LastEviction()
	return s.recent(s.grant.Record.Marks.Released.Open) || evicted && (previous || eviction.At.IsZero() || s.recent(eviction.At))
}

// recent reports whether a time on DynamoDB's clock is so short before the grant that a
// transaction of that time may not be visible yet. Zero is not.
func (s *Session) recent(at time.Time) bool {
	return !at.IsZero() && s.tableTime(s.grant.Sent).Sub(at) < unsettledFor
}

// LastEviction returns the mark of the last eviction before the grant. ok reports that there
// is one, and previous that no turn was released after the evicted one.
func (s *Session) LastEviction() (mark serving.Evicted, ok, previous bool) {
	marks := s.grant.Record.Marks
	return marks.Evicted, !marks.Evicted.Ticket.IsZero(), marks.Released.Ticket.Less(marks.Evicted.Ticket)
}
