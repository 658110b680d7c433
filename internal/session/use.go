package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// SetData replaces the holder's data; nil removes it. Calls take effect in the order in which
// they began. One request, repeated until ctx or the session ends.
func (s *Session) SetData(ctx context.Context, data []byte) error {
	if err := s.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	s.dataSet++
	n := s.dataSet
	s.mu.Unlock()
	data = bytes.Clone(data)
	return s.write(ctx, "set data", func(ctx context.Context) (queue.Record, error) {
		return serving.SetData(ctx, s.config.Queue, s.grant.ID, s.grant.Ticket, n, data)
	})
}

// write sends a write to the holder's entry until it is answered, or ctx or the session ends.
func (s *Session) write(ctx context.Context, what string, send func(context.Context) (queue.Record, error)) error {
	held, cancel := s.Within(ctx)
	defer cancel()
	rec, err := retry.Answer(held, table.Retryable, send)
	switch {
	case err == nil:
		s.saw(rec)
		return nil
	case errors.Is(err, serving.ErrLost):
		return s.fenced(rec)
	}
	return s.failed(ctx, what, err)
}

// failed returns the error of a call of the holder that failed with err. ctx is the caller's.
func (s *Session) failed(ctx context.Context, what string, err error) error {
	return fmt.Errorf("queuelock: %s: %s: %w", s.config.Name, what, errors.Join(err, ctx.Err(), s.Err()))
}

// sharing is what is known of other holders of the lock.
type sharing int

const (
	alone    sharing = iota // there can be none
	notAlone                // there may be: with permits, or a downgrade of unknown outcome
	shared                  // the record is in shared mode
)

func sharingOf(m queue.Mode) sharing {
	switch {
	case m.Shared:
		return shared
	case m == queue.Mode{}:
		return alone
	}
	return notAlone
}

// Shared reports whether the lock is known to be in shared mode.
func (s *Session) Shared() bool { return s.shares(shared) }

func (s *Session) shares(how sharing) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sharing == how
}

// Downgrade makes an exclusive lock a shared one. One request, repeated until ctx or the
// session ends, and one that settles the last transaction first if that was not made; none if
// the lock is shared.
func (s *Session) Downgrade(ctx context.Context) error {
	const what = "downgrade"
	if err := s.Err(); err != nil || s.Shared() {
		return err
	}
	held, cancel := s.Within(ctx)
	defer cancel()
	// Others may join, and must see what was written under the exclusive lock.
	resume, err := s.settleTransactions(held, refused)
	if resume != nil {
		defer resume()
	}
	if err != nil {
		return s.failed(ctx, what, err)
	}
	s.mu.Lock()
	s.sharing = max(s.sharing, notAlone)
	s.mu.Unlock()
	err = s.write(ctx, what, func(ctx context.Context) (queue.Record, error) {
		return serving.Downgrade(ctx, s.config.Queue, s.grant.ID, s.grant.Ticket, queue.NextTransaction(s.last.number))
	})
	if err == nil {
		s.client.Local.Wake(s.config.Queue, true)
	}
	return err
}

// Get reads items that the lock protects in one TransactGetItems, which conflicts with a
// transaction that is still being committed. It is repeated until ctx or the session ends.
func (s *Session) Get(ctx context.Context, items []types.TransactGetItem) (read []clause.Item, err error) {
	if err := validItems("Get", len(items), 0); err != nil {
		return nil, err
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	held, cancel := s.Within(ctx)
	defer cancel()
	read, err = retry.Answer(held, retry.Policy{Retryable: transient}, func(ctx context.Context) ([]clause.Item, error) {
		return s.config.Queue.TransactGet(ctx, items)
	})
	if err != nil {
		return nil, s.failed(ctx, "get", err)
	}
	return read, s.Err()
}

// transient reports whether a transaction that failed with err may succeed later.
func transient(err error) bool {
	return table.RetryableReasons(table.Reasons(err)) || table.Unanswered(err)
}

// unsettledFor is how long DynamoDB may take to finish a transaction whose sender is gone.
// DynamoDB documents no limit; a recovery takes seconds.
const unsettledFor = time.Minute

// Unsettled reports whether a fenced transaction of an earlier turn may become visible
// while this lock is held.
func (s *Session) Unsettled() bool {
	eviction, evicted, previous := s.LastEviction()
	return slices.ContainsFunc(s.grant.Record.Marks.Unsettled, s.recent) || evicted && (previous || eviction.At.IsZero() || s.recent(eviction.At))
}

// recent reports whether a time on DynamoDB's clock may be so short before the grant that a
// transaction of that time is not visible yet. Zero is not.
func (s *Session) recent(at time.Time) bool {
	earliest, _, known := s.config.Queue.Clock().At(s.grant.Sent)
	return !at.IsZero() && (!known || earliest.Sub(at) < unsettledFor)
}

// LastEviction returns the mark of the last eviction before the grant. ok reports that there
// is one, and previous that no turn was released after the evicted one.
func (s *Session) LastEviction() (mark queue.Eviction, ok, previous bool) {
	marks := s.grant.Record.Marks
	return marks.Evicted, !marks.Evicted.Ticket.IsZero(), marks.Released.Ticket.Less(marks.Evicted.Ticket)
}
