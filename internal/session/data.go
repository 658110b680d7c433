package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// SetData replaces the holder's data; nil removes it. Calls take effect in the order in
// which they began. It returns the reason if the session has ended. One request,
// repeated until ctx or the session ends.
func (s *Session) SetData(ctx context.Context, data []byte) error {
	if err := s.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	s.dataSet++
	n := s.dataSet
	s.mu.Unlock()
	data = bytes.Clone(data)
	return s.write(ctx, "set data", func(ctx context.Context) (serving.Record, error) {
		return serving.SetData(ctx, s.config.Queue, s.grant.ID, s.grant.Ticket, n, data)
	})
}

// write sends a write to the holder's entry until it is answered, or ctx or the session
// ends.
func (s *Session) write(ctx context.Context, what string, send func(context.Context) (serving.Record, error)) error {
	held, cancel := s.Within(ctx)
	defer cancel()
	var rec serving.Record
	err := table.Retryable.Do(held, func(ctx context.Context) (err error) {
		rec, err = send(ctx)
		return err
	})
	switch {
	case err == nil:
		s.saw(rec)
		return nil
	case errors.Is(err, serving.ErrRefused):
		return s.fenced(rec)
	}
	return fmt.Errorf("queuelock: %s: %s: %w", s.config.Name, what, errors.Join(err, ctx.Err(), s.Err()))
}
