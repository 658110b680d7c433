package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/internal/serving"
)

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
	if err := s.Err(); err != nil {
		return err
	}
	if s.Shared() {
		return nil
	}
	held, cancel := s.Within(ctx)
	defer cancel()
	// Others may join, and must see what was written under the exclusive lock.
	resume, err := s.settleTransactions(held)
	if resume != nil {
		defer resume()
	}
	if err != nil {
		return fmt.Errorf("queuelock: %s: downgrade: %w", s.config.Name, errors.Join(err, ctx.Err(), s.Err()))
	}
	s.mu.Lock()
	if s.sharing == alone {
		s.sharing = notAlone
	}
	s.mu.Unlock()
	err = s.write(ctx, "downgrade", func(ctx context.Context) (serving.Record, error) {
		return serving.Downgrade(ctx, s.config.Queue, s.grant.ID, s.grant.Ticket)
	})
	if err == nil {
		s.client.Local.Wake(s.config.Queue)
	}
	return err
}
