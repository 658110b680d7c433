package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Mode is how a ticket holds. The zero Mode is exclusive.
type Mode struct {
	// Shared lets several such tickets hold at once. Exclusive and shared tickets wait
	// in the same queue.
	Shared bool
	// Permits is the number of permits of a semaphore. Zero: the queue is a lock. A
	// queue never changes its kind.
	Permits int
	// Readers is the largest number of shared holders, limited by their heartbeats.
	// Zero: MaxPermits.
	Readers int
}

func (m Mode) readers() int { return cmp.Or(m.Readers, MaxPermits) }

// The values of holdMode, and of the mode of a row or an entry. An entry without
// one is exclusive.
const (
	ModeExclusive = "exclusive"
	ModeShared    = "shared"
)

func (m Mode) String() string {
	if m.Shared {
		return ModeShared
	}
	return ModeExclusive
}

// Room reports whether the record has room for another holder beside the live ones.
func (m Mode) Room(rec Record, live int) bool {
	switch {
	case m.Permits > 0:
		return live < m.Permits
	case m.Shared:
		return live == 0 || rec.Shared && live < m.readers()
	}
	return live == 0
}

// MismatchError reports that a queue is of another kind than the caller asked for. A
// queue never changes its kind.
type MismatchError struct {
	Is, Wanted string // with an article: "a lock", "a semaphore of 3"
	Remedy     string // the option of package queuelock that fits
}

// Error does not name the queue, which the caller knows.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("the queue is %s, and %s is asked for", e.Is, e.Wanted)
}

// kind names the kind of queue that the mode needs.
func (m Mode) kind() string {
	if m.Permits > 0 {
		return fmt.Sprintf("a semaphore of %d", m.Permits)
	}
	return "a lock"
}

// Fits returns a *MismatchError if the record is of another kind.
func (m Mode) Fits(rec Record) error {
	if is := (Mode{Permits: rec.Permits}); rec.Exists && is.Permits != m.Permits {
		return &MismatchError{Is: is.kind(), Wanted: m.kind(), Remedy: is.remedy()}
	}
	return nil
}

// remedy returns the option that asks for a queue of the mode's kind.
func (m Mode) remedy() string {
	if m.Permits > 0 {
		return fmt.Sprintf("pass Permits(%d)", m.Permits)
	}
	return "leave Permits out"
}

// admits returns the condition that the record has room for another holder. Each part
// is false while holders is absent.
func (n names) admits(m Mode) expression.ConditionBuilder {
	switch {
	case m.Permits > 0:
		return n.holders.Size().LessThan(n.permits)
	case m.Shared:
		return n.noHolder().Or(n.isShared().And(n.holders.Size().LessThan(expression.Value(table.Int(int64(m.readers()))))))
	}
	return n.noHolder()
}

// isKind returns the condition that the record is of the mode's kind.
func (n names) isKind(m Mode) expression.ConditionBuilder {
	if m.Permits > 0 {
		return n.permits.Equal(expression.Value(table.Int(int64(m.Permits))))
	}
	return n.permits.AttributeNotExists()
}

// fits returns the condition that the record accepts tickets of the mode: it is of
// that kind and, for a shared ticket, says how its holders hold.
func (n names) fits(m Mode) expression.ConditionBuilder {
	if m.Shared {
		return n.isKind(m).And(n.holders.AttributeNotExists().Or(n.holdMode.AttributeExists()))
	}
	return n.isKind(m)
}

// refuses returns the reason why a record that refused a ticket of the mode will
// refuse any other ticket of it. Nil: another ticket may be accepted.
func (rec Record) refuses(q table.Queue, m Mode, s Scope) error {
	if mismatch := cmp.Or(s.Fits(rec), m.Fits(rec)); mismatch != nil {
		return mismatch
	}
	if m.Shared && rec.noHoldMode {
		return &table.MalformedError{
			Item: fmt.Sprintf("serving record of %q", q), Attribute: q.Attr(table.AttrHoldMode),
			Problem: "is missing beside the holders, which may be exclusive: a shared holder cannot join them",
		}
	}
	return nil
}

// isShared returns the condition that the holders share. holdMode is present exactly
// while holders is.
func (n names) isShared() expression.ConditionBuilder {
	return n.holdMode.Equal(expression.Value(table.String(ModeShared)))
}

// Downgrade lets an exclusive holder share its lock from now on, with no holder in
// between:
//
//	SET holdMode = "shared", holders.#id.mode = "shared"
//	if the holder holds the lock as HEARTBEAT asks AND size(holders) = 1
//
// It succeeds if an earlier call has done it. ErrRefused is a loss.
func Downgrade(ctx context.Context, q table.Queue, id string, t ticket.Number) (Record, error) {
	n, shared := namesOf(q), expression.Value(table.String(ModeShared))
	rec, err := write(ctx, q,
		expression.Set(n.holdMode, shared).Set(n.field(id, table.AttrMode), shared),
		n.held(id, t).And(n.alone()))
	if errors.Is(err, ErrRefused) {
		if h, held := rec.Held(id, t); held && h.Shared {
			return rec, nil // other holders have joined since
		}
	}
	return rec, err
}
