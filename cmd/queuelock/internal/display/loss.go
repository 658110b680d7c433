package display

import (
	"fmt"
	"time"

	"github.com/queuelock/queuelock/queue"
)

// Loss is the last turn that was taken from its holder, for machines. The record has neither its owner nor the cause.
type Loss struct {
	Ticket string     `json:"ticket" help:"the ticket of the holder"`
	ID     string     `json:"id" help:"the id of the holder"`
	At     *time.Time `json:"at" help:"when"`
}

// lost returns the mark of the last eviction; false if there is none, or if its ticket has the lock, as after a Resume.
func lost(s *queue.State) (queue.Eviction, bool) {
	mark := s.LastEviction
	_, holds := s.Holder(mark.Ticket)
	return mark, !mark.Ticket.IsZero() && !holds
}

// NewLoss returns nil if the record has no loss.
func NewLoss(s *queue.State) *Loss {
	mark, ok := lost(s)
	if !ok {
		return nil
	}
	return &Loss{Ticket: mark.Ticket.String(), ID: mark.ID, At: known(mark.At)}
}

// Lost says which turn was the last that its holder lost, and when; empty if there is none.
func Lost(s *queue.State) string {
	mark, ok := lost(s)
	if !ok {
		return ""
	}
	when := "at a time that is not known"
	if !mark.At.IsZero() {
		when = fmt.Sprintf("%s ago, at %s", Age(max(0, s.ReadAt.Sub(mark.At))), At(mark.At))
	}
	return fmt.Sprintf("last loss: ticket %s, %s: its lease was over, or it was evicted or resumed", mark.Ticket.Short(), when)
}
