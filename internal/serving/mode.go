package serving

import (
	"cmp"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
)

// Mode is how the owner of a ticket holds. The zero Mode is exclusive: alone.
type Mode struct {
	// Shared lets it hold together with others that do. One that is exclusive
	// and one that is shared may wait in the same queue.
	Shared bool
	// Permits is how many hold at once where the queue is a semaphore; zero: it
	// is a lock. A queue is one or the other for life.
	Permits int
	// Readers is how many that share one that shares joins at the most: as many
	// as sustain their heartbeats. Zero: MaxPermits.
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

// Room reports whether the record has room for one more holder of the mode,
// beside so many that live.
func (m Mode) Room(rec Record, live int) bool {
	switch {
	case m.Permits > 0:
		return live < m.Permits
	case m.Shared:
		return live == 0 || rec.Shared && live < m.readers()
	}
	return live == 0
}

// MismatchError says that a queue is of another kind than its caller asked for.
// A queue keeps its kind for life: use another reason, or ask for what it is.
type MismatchError struct {
	Is, Wanted string // with their articles: "a lock", "a semaphore of 3"
	Remedy     string // how to ask for what it is, by the options of package queuelock
}

// Error does not name the queue: who asked knows it.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("the queue is %s, and %s is asked for", e.Is, e.Wanted)
}

// kind says what queue a caller asks for.
func (m Mode) kind() string {
	if m.Permits > 0 {
		return fmt.Sprintf("a semaphore of %d", m.Permits)
	}
	return "a lock"
}

// Fits returns a *MismatchError if the record is of another kind. It makes no
// request.
func (m Mode) Fits(rec Record) error {
	if is := (Mode{Permits: rec.Permits}); rec.Exists && is.Permits != m.Permits {
		return &MismatchError{Is: is.kind(), Wanted: m.kind(), Remedy: is.remedy()}
	}
	return nil
}

// remedy says how to ask for a queue of the mode's kind.
func (m Mode) remedy() string {
	if m.Permits > 0 {
		return fmt.Sprintf("pass Permits(%d)", m.Permits)
	}
	return "leave Permits out"
}

// admits is the condition under which the record has room for one more holder
// of the mode. Each part is false while holders is absent.
func (n names) admits(m Mode) expression.ConditionBuilder {
	switch {
	case m.Permits > 0:
		return n.holders.Size().LessThan(n.permits)
	case m.Shared:
		return n.nobody().Or(n.isShared().And(n.holders.Size().LessThan(expression.Value(table.Int(int64(m.readers()))))))
	}
	return n.nobody()
}

// isKind is the condition that the record is of the mode's kind.
func (n names) isKind(m Mode) expression.ConditionBuilder {
	if m.Permits > 0 {
		return n.permits.Equal(expression.Value(table.Int(int64(m.Permits))))
	}
	return n.permits.AttributeNotExists()
}

// fits is the condition that the record takes tickets of the mode: it is of its
// kind, and one that does not say how its holders hold is not made to.
func (n names) fits(m Mode) expression.ConditionBuilder {
	if m.Shared {
		return n.isKind(m).And(n.holders.AttributeNotExists().Or(n.holdMode.AttributeExists()))
	}
	return n.isKind(m)
}

// refuses returns why a record that refused a ticket of the mode will refuse any
// other: it is of another kind or scope, or fits asks for what it does not say.
// Nil: another may be taken.
func (rec Record) refuses(q table.Queue, m Mode, s Scope) error {
	if mismatch := cmp.Or(s.Fits(rec), m.Fits(rec)); mismatch != nil {
		return mismatch
	}
	if m.Shared && rec.silent {
		return &table.MalformedError{
			Item: fmt.Sprintf("serving record of %q", q), Attribute: q.Attr(table.AttrHoldMode),
			Problem: "is missing beside the holders, who may be exclusive: one who shares cannot join them",
		}
	}
	return nil
}

// isShared says that those who hold share. holdMode is present with holders and
// absent with it.
func (n names) isShared() expression.ConditionBuilder {
	return n.holdMode.Equal(expression.Value(table.String(ModeShared)))
}
