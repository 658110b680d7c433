package serving

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Ending describes the release of a lock.
type Ending struct {
	ID     string
	Ticket ticket.Number
	Call   int64 // number of the release call; repeats of one call have the same
	Turn   Turn  // of recent hold times, this one included; not written to a user's item
	// Unsettled is a time to add to Marks.Unsettled. Zero: none; then Settled are removed.
	Unsettled time.Time
	Replaces  bool // no other holder can have added a time: Unsettled is the only one left
	// Bounded asks that the set has fewer than MaxUnsettled times, or is Crowd, which Unsettled then replaces: see Add.
	Bounded bool
	Crowd   []time.Time
	Settled []time.Time
	// Unmade asks that the holder's fenced transaction of this number, and later ones,
	// were not made. A copy of a refused one may arrive late, and must not commit unnoticed
	// while the lock is released. Zero: there is none.
	Unmade int64
	Next   Next // for FormPass
	Lost   bool // the lock is known to be lost, and what is left of it is removed
}

// MaxUnsettled is the number of times from which on a release replaces them by one.
const MaxUnsettled = 10

// Add makes the release add a time to those that the record had when it was read. If they are many, it replaces them by
// one that is later than all. That must be a new one: a holder removes a time that was there before its turn, and must
// not remove this transaction's.
func (e *Ending) Add(at time.Time, read []time.Time) {
	e.Unsettled, e.Crowd = at, nil
	if len(read) < MaxUnsettled || !e.Bounded || e.Replaces {
		return
	}
	e.Crowd = read
	if last := slices.MaxFunc(read, time.Time.Compare); !at.After(last) {
		e.Unsettled = last.Add(time.Millisecond)
	}
}

// Next is the waiter that FormPass grants the lock to.
type Next struct {
	Entry  Entry
	Ticket ticket.Number
}

// Form is one of the forms of RELEASE. Each asks that the holder is in the record
// with its ticket, removes it, and leaves a mark (Released). So at most one of any
// number of requests of either form is applied, however late.
type Form int

// The forms.
const (
	// FormFast leaves the record without holders, so that the next TAKE is served at
	// once. It asks that the holder is alone, and that no ticket is outstanding in the
	// table, whatever the holder last saw.
	FormFast Form = iota + 1
	// FormHandOff leaves {}, so that the first waiter may claim.
	FormHandOff
	// FormPass also claims the lock for Ending.Next: RELEASE and CLAIM in one write, for
	// a waiter of the same client, or for one that it names by its row. Only an exclusive
	// holder may pass the lock, to the ticket after its own, because no other waiter can be
	// between the two.
	FormPass
)

func (f Form) expressions(q table.Queue, e Ending) table.Expressions {
	return q.Record().Express(e.release(f, q.Home == nil, forgetting(q)), q.Names())
}

// Release sends RELEASE of the protocol in that form. If it is refused, Record.Outcome
// says what became of the turn. If FormFast is applied, the record is not returned. Returns a *clause.MalformedError, and the
// record, if the ticket of the holder's entry cannot be read: no RELEASE will be applied, and no other client removes the entry.
func Release(ctx context.Context, q table.Queue, f Form, e Ending) (Record, error) {
	rec, err := release(ctx, q, f, e)
	return rec, e.explain(rec, err)
}

// explain returns the error of a RELEASE that ended with err. A refusal is the problem of the holder's entry if its ticket
// cannot be read.
func (e Ending) explain(rec Record, err error) error {
	if problem := rec.hides(e.ID, e.Ticket); errors.Is(err, ErrRefused) && problem != nil && !e.Lost && !rec.Holds(e.ID, e.Ticket) {
		return table.NotApplied(problem)
	}
	return err
}

func release(ctx context.Context, q table.Queue, f Form, e Ending) (Record, error) {
	if f != FormFast {
		return sendExpressions(ctx, q, f.expressions(q, e))
	}
	err := q.Record().Apply(ctx, q.RecordKey(), f.expressions(q, e))
	if err == nil {
		return Record{}, nil
	}
	return written(ctx, q, nil, err)
}

// UpdateAndRelease applies a form of RELEASE and the user's own update of the item that
// carries the record in one write, on both conditions. users has an update, and may
// have a condition. If it is refused and the holder is in the record, the form was not possible (Fast)
// or the user's condition was false. At most one of any number of calls is applied. Returns a *clause.MalformedError as
// Release does.
func UpdateAndRelease(ctx context.Context, q table.Queue, f Form, e Ending,
	users expression.Expression) (Record, error) {
	rec, err := sendExpressions(ctx, q, table.Join(f.expressions(q, e), users))
	return rec, e.explain(rec, err)
}

// Fast reports whether the fast form of RELEASE is possible for the holder id with
// ticket t.
func (r Record) Fast(id string, t ticket.Number) bool {
	return r.meets(Ending{ID: id, Ticket: t}.leaves(FormFast))
}

// Reset makes a queue without holders and outstanding tickets serve the next TAKE
// at once: RESET of the protocol. t must be a ticket that was granted to the caller. With
// another ticket, a live waiter could be overtaken. The request may be late by any time.
func Reset(ctx context.Context, q table.Queue, t ticket.Number) (Record, error) {
	return send(ctx, q, reset(t, forgetting(q)))
}

// Idle reports whether MakeIdle would be applied.
func (r Record) Idle() bool { return r.Resettable(r.FirstServed()) }

// MakeIdle is Reset for a client that was granted nothing, after it has removed holders from the record r. The first
// ticket that was served since holders became present was granted, and a ticket behind it may be outstanding. If the
// record is of a wider scope, the table's TTL must not delete it.
func MakeIdle(ctx context.Context, q table.Queue, r Record) (Record, error) {
	if r.Scope != ticket.ScopeQueue {
		q.Forget = 0
	}
	return Reset(ctx, q, r.FirstServed())
}

// Resettable reports whether Reset would be applied with ticket t.
func (r Record) Resettable(t ticket.Number) bool {
	return r.meets(reset(t, time.Time{}))
}

// forgetting returns when the table's TTL may delete a record that is idle from now on; zero if that must not happen, or
// the time is not known.
func forgetting(q table.Queue) time.Time {
	_, latest, known := q.Clock().At(time.Now())
	if !known || q.Forget == 0 {
		return time.Time{}
	}
	return latest.Add(q.Forget)
}
