package session

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/queue"
)

// Publish is Release that also leaves a result in the record, both or neither. ttl is how long the result lives. Without
// DynamoDB's time it has no end that can be judged, and answers none but the callers that wait for it. Nil says that the
// result was left. It returns the reason if the lock has ended before.
func (s *Session) Publish(ctx context.Context, value []byte, ttl time.Duration) error {
	ctx, cancel := retry.Outlive(ctx, s.client.Timeout)
	defer cancel()
	if err := s.releases.Lock(ctx); err != nil {
		return fmt.Errorf("queuelock: publish %s: a Release is still under way: %w", s.config.Name, err)
	}
	defer s.releases.Unlock()
	// So this is the first call that releases the lock: if the record says that one has, it was this one.
	if err := s.Err(); err != nil {
		return err
	}
	result := queue.Result{Ticket: s.grant.Ticket, Value: bytes.Clone(value)}
	if earliest, _, known := s.config.Queue.Clock().At(time.Now()); known {
		result.Until = earliest.Add(ttl)
	}
	return s.release(ctx, &result)
}
