package session

import (
	"bytes"
	"context"

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
	data = bytes.Clone(data)
	return s.change(ctx, "set data", of(s.life, func(h *queue.Hold) clause.Write { return h.SetData(data) }))
}

// change sends a change of the holder's entry until it is answered, or ctx or the session ends.
func (s *Session) change(ctx context.Context, what string, w clause.Write) error {
	held, cancel := s.Within(ctx)
	defer cancel()
	answer := queue.HoldEvent{Kind: queue.HoldChanged}
	_ = table.Retryable.Do(held, func(ctx context.Context) error {
		answer.Record, answer.Reply, answer.Err = serving.Send(ctx, s.config.Queue, w)
		return answer.Err
	})
	switch do := s.step(answer); do.Result {
	case queue.HoldMade:
		return nil
	case queue.HoldFailed:
		return s.failed(ctx, what, do.Err)
	}
	return s.reason()
}

// Shared reports whether the lock is known to be in shared mode.
func (s *Session) Shared() bool { return of(s.life, (*queue.Hold).Shared) }

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
	resume, err := s.transacts.finish(held, queue.TransactionRefused)
	if resume != nil {
		defer resume()
	}
	if err != nil {
		return s.failed(ctx, what, err)
	}
	if err = s.change(ctx, what, of(s.life, (*queue.Hold).Downgrade)); err == nil {
		s.client.Local.Wake(s.config.Queue)
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

// Unsettled reports whether a fenced transaction of an earlier turn may become visible
// while this lock is held.
func (s *Session) Unsettled() bool {
	earliest, _, _ := s.config.Queue.Clock().At(s.grant.Sent)
	return s.grant.Record.Marks.MayAppear(earliest)
}
