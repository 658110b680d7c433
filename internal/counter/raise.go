package counter

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Next issues a number of a counter in an item of its own: NUMBER of the protocol. One
// request; the first number of all costs another, which seeds the counter, and more if
// other clients seed it at the same time. Calling again is safe after any error: a
// number whose answer was lost is skipped, and no client waits for it.
func (c Counter) Next(ctx context.Context) (ticket.Number, error) {
	for {
		item, err := c.Take(ctx, Rider{})
		switch {
		case errors.Is(err, ErrSeeded) && ctx.Err() == nil:
			continue
		case err != nil:
			return ticket.Number{}, err
		}
		r := &table.Reader{What: c.What, Item: item}
		n := r.Ticket(c.Attribute)
		return n, r.Err
	}
}

// MaxRaise is how far above the number that it has just issued a counter may be
// raised. A counter that was lost after years must be within it: at 1,000 numbers a
// second, as many as one item takes, 2^48 lasts for 8,900 years, and a counter that
// follows the time in steps of 0.1 ms passes it in 890. A counter that is raised by
// mistake is still far below 2^53, up to which JSON keeps numbers exactly.
const MaxRaise = 1 << 48

// ErrFar reports that a counter was not raised, because the number was more than
// MaxRaise above the one that it had issued: no waiter can have been given it.
var ErrFar = errors.New("the number is too far above those that the counter issues")

// Raise raises a counter to a number if it is lower:
//
//	SET ticketNumber = :n if ticketNumber < :n
//
// It is for a counter that was deleted or restored, and has issued a number that was
// used before. issued is that number. A counter that is higher or missing is left
// alone, which is a success. One request; none for ErrFar. Calling again is safe.
func (c Counter) Raise(ctx context.Context, issued, to ticket.Number) error {
	if to.After(issued) > MaxRaise {
		return ErrFar
	}
	number, value := expression.NameNoDotSplit(c.Attribute), expression.Value(to.Attribute())
	_, err := c.Store.Update(ctx, c.Key, expression.Set(number, value), number.LessThan(value))
	if _, refused := errors.AsType[*table.Refused](err); refused {
		return nil
	}
	return err
}
