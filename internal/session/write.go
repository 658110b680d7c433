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

// write sends a write to the holder's entry until it is answered, or ctx or the session ends.
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

func sharingOf(m serving.Mode) sharing {
	switch {
	case m.Shared:
		return shared
	case m == serving.Mode{}:
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

// Downgrade makes an exclusive lock a shared one. It returns the reason if the session has
// ended. One request, repeated until ctx or the session ends; none if the lock is shared.
func (s *Session) Downgrade(ctx context.Context) error {
	const what = "downgrade"
	if err := s.Err(); err != nil || s.Shared() {
		return err
	}
	held, cancel := s.Within(ctx)
	defer cancel()
	// Others may join, and must see what was written under the exclusive lock.
	resume, err := s.settleTransactions(held)
	if resume != nil {
		defer resume()
	}
	if err != nil {
		return s.failed(ctx, what, err)
	}
	s.mu.Lock()
	s.sharing = max(s.sharing, notAlone)
	s.mu.Unlock()
	err = s.write(ctx, what, func(ctx context.Context) (serving.Record, error) {
		return serving.Downgrade(ctx, s.config.Queue, s.grant.ID, s.grant.Ticket)
	})
	if err == nil {
		s.client.Local.Wake(s.config.Queue)
	}
	return err
}
