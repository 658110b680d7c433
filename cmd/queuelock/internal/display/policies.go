package display

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/queue"
)

// Closed is the state of a queue whose last turn was released, and that stays closed.
const Closed = "closed"

// closing returns the first entry that keeps a queue without a holder closed.
func closing(s *queue.State) (h queue.Holder, closed bool) {
	if all := taken(s); len(all) > 0 && len(queue.Turns(all)) == 0 {
		return all[0], true
	}
	return h, false
}

// taken returns the holders, and what keeps the queue closed. Its entry stays when the queue has opened, until the next turn.
func taken(s *queue.State) []queue.Holder {
	return slices.DeleteFunc(slices.Clone(s.Serving), func(h queue.Holder) bool { return h.Closed && h.Expired() })
}

// At prints a time on DynamoDB's clock, or what is said of one that is not known.
func At(t time.Time) string {
	if t.IsZero() {
		return "a time that is not known"
	}
	return t.UTC().Format(time.RFC3339)
}

// Asked says when, by whom, until when and why a holder was asked to give way.
func Asked(r queue.Revocation, now time.Time) string {
	text := ""
	if !r.At.IsZero() {
		text = " " + Age(max(0, now.Sub(r.At))) + " ago"
	}
	text += " by " + Owner(r.By)
	if !r.Deadline.IsZero() {
		text += ", until " + At(r.Deadline)
	}
	if r.Why != "" {
		text += ": " + Owner(r.Why)
	}
	return text
}

// Revoked is a request to give way, for machines.
type Revoked struct {
	By       string     `json:"by" help:"who has asked the holder to give way"`
	Why      string     `json:"why" help:"the reason"`
	At       *time.Time `json:"at" help:"when"`
	Deadline *time.Time `json:"deadline" help:"until when it should have ended its turn"`
}

func newRevoked(r *queue.Revocation) *Revoked {
	if r == nil {
		return nil
	}
	return &Revoked{By: r.By, Why: r.Why, At: known(r.At), Deadline: known(r.Deadline)}
}

// known returns a time, nil if it is not known.
func known(t time.Time) *time.Time { return orNull(t.UTC()) }

// orNull returns nil for the zero value.
func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
