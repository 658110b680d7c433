// Package counter issues ticket numbers by atomic increments of a counter in one item.
// Package requests adds its own attributes to the increment, so that taking a number and
// being served at once are one request.
//
// # Promises
//
// No two callers get the same number, and a later increment gives a higher one. The
// counter is never reset, and is never read and then written. One that is deleted begins
// again at DynamoDB's time, above all its earlier numbers. The deletion must come later
// after the last increment than the estimates of that time are wide, and requests are late.
//
// # Does not promise
//
// Numbers may stay unused: an increment whose answer was lost burns one. Package queue
// decides the order in which tickets are served.
//
//	| failure                         | outcome                                   |
//	|---------------------------------|-------------------------------------------|
//	| the item is missing             | created by the same request               |
//	| another client seeded it first  | ticket.ErrSeeded: take again              |
//	| the answer is lost              | a number may be burnt; see MayHaveTaken   |
//	| the item is not a counter       | *clause.MalformedError; nothing is written |
//	| the counter is at 10^38-1       | ticket.ErrExhausted; nothing is written   |
package counter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Counter is one counter in a table.
type Counter struct {
	ticket.Master
	Store *table.Store
	Key   clause.Item // primary key of the item
	What  string      // names the item in errors
}

// name is the sort key of an entity's counter, and the partition key of the table's. No queue's item has it, because
// its sort key has a slash.
const name = "ticket-master"

// Of returns the counter of a queue's entity or table, by its scope.
func Of(q table.Queue, scope ticket.Scope) Counter {
	c := Counter{Store: q.Store, Master: ticket.Master{Names: q.Names(), Attribute: attr.TicketNumber}}
	if scope == ticket.ScopeEntity {
		c.Key, c.What = q.Key(name), fmt.Sprintf("ticket master of %q", q.Entity)
	} else {
		q.Entity = name
		c.Key, c.What = q.Key("current"), "ticket master of the table"
	}
	return c
}

// Take issues a number and returns the item with it: see ticket.Master. The caller has asked for DynamoDB's time
// (table.Queue.Date), from which the first number of a new counter follows. The SDK's retries are off, because a
// retried increment would issue a second number. Take may be called again after an error, with another rider if the
// first one left a mark of its own. Returns
//
//   - ticket.ErrSeeded, with the item, if another client seeded the counter first. It may be the caller's own, from an
//     attempt whose answer was lost.
//   - ticket.ErrRefused, with the item, if the rider's condition was false.
//   - ticket.ErrNoItem if a Host is missing that must not be created.
//   - *clause.MalformedError or ticket.ErrExhausted if the item can issue no number.
//
// After any other error MayHaveTaken reports whether a number may have been issued.
func (c Counter) Take(ctx context.Context, rider ticket.Rider) (clause.Item, error) {
	base, nests, makes := c.base(), c.Store.Nests(), ticket.Master.Take
	if !nests {
		makes = ticket.Master.TakeThenSeed
	}
	for take := makes(c.Master, rider, base); ; {
		item, err := c.Store.Update(ctx, c.Key, c.Store.Express(take.Write, c.Names), false)
		refused, ok := errors.AsType[*table.Refused](err)
		switch {
		case !ok && nests && c.Store.RefusesNesting(err):
			take, nests = c.Master.TakeThenSeed(rider, base), false
			continue
		case !ok:
			return item, err
		}
		switch take, err = take.Refused(refused.Item); {
		case err == nil: // a seed follows
		case errors.Is(err, ticket.ErrSeeded), errors.Is(err, ticket.ErrRefused):
			return refused.Item, err
		case errors.Is(err, ticket.ErrNoItem):
			return nil, err
		case errors.Is(err, ticket.ErrExhausted):
			return nil, table.NotApplied(err)
		default:
			return nil, table.NotApplied(c.malformed(err))
		}
	}
}

func (c Counter) malformed(problem error) error {
	return &clause.MalformedError{Item: c.What, Attribute: c.Names.Prefix + c.Attribute, Problem: problem.Error()}
}

// Base is ticket.Base. Tests that run in real time and compare tickets set it to Zero.
var Base = ticket.Base

// Zero is a Base by which each counter begins with the number 1.
func Zero(time.Time) ticket.Number { return ticket.Number{} }

// base returns the number before the first of a new counter, by the earliest that DynamoDB's time can be. Of an engine
// without dates it is the host's time.
func (c Counter) base() ticket.Number {
	now := time.Now()
	if earliest, _, known := c.Store.Clock().At(now); known {
		return Base(earliest)
	}
	return Base(now)
}

// MayHaveTaken reports whether a Take that failed with err may have issued a number,
// or may still do so if it arrives late.
func MayHaveTaken(err error) bool {
	if errors.Is(err, ticket.ErrSeeded) || errors.Is(err, ticket.ErrRefused) || errors.Is(err, ticket.ErrExhausted) ||
		errors.Is(err, ticket.ErrNoItem) {
		return false
	}
	return table.Applied(err) // also of an answer that cannot be read
}

// Next issues a number of a counter in an item of its own: NUMBER of the protocol. One
// request, and more if it seeds the counter. Calling again is safe after any error: a
// number whose answer was lost is skipped, and no client waits for it.
func (c Counter) Next(ctx context.Context) (ticket.Number, error) {
	for {
		item, err := c.Take(ctx, ticket.Rider{})
		switch {
		case errors.Is(err, ticket.ErrSeeded) && ctx.Err() == nil:
			continue
		case err != nil:
			return ticket.Number{}, err
		}
		n, err := c.Number(item)
		if err != nil {
			err = c.malformed(err)
		}
		return n, err
	}
}

// MaxRaise is how far above the number that it has just issued a counter may be
// raised. A counter that an older version began at 1 is within it of those that began by
// time until the year 2917. One that is raised by mistake is still far below 2^53.
const MaxRaise = 1 << 48

// ErrFar reports that a counter was not raised, because the number was more than
// MaxRaise above the one that it had issued: no waiter can have been given it.
var ErrFar = errors.New("the number is too far above those that the counter issues")

// Raise raises a counter to a number if it is lower, by RAISE of ticket.Master. issued is a number that it has
// issued, and that was used before. A counter that is higher or missing is left
// alone, which is a success. One request; none for ErrFar. Calling again is safe.
func (c Counter) Raise(ctx context.Context, issued, to ticket.Number) error {
	if to.After(issued) > MaxRaise {
		return ErrFar
	}
	_, err := c.Store.Update(ctx, c.Key, c.Store.Express(c.Master.Raise(to), c.Names), true)
	if refused, ok := errors.AsType[*table.Refused](err); ok && refused.Means == clause.Made {
		return nil
	}
	return err
}
