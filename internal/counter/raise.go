package counter

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Next issues a number of a plain counter, an item that holds nothing else:
// NUMBER of the protocol. One request; one more for the first number of all,
// which seeds it, and more if others seed it at the same time. Calling
// again is safe after any error: a number whose answer was lost is burnt, and
// nobody waits for it.
func (m Master) Next(ctx context.Context) (ticket.Number, error) {
	for {
		item, err := m.Take(ctx, Rider{})
		switch {
		case errors.Is(err, ErrSeeded) && ctx.Err() == nil:
			continue
		case err != nil:
			return ticket.Number{}, err
		}
		r := &table.Reader{What: m.What, Item: item}
		n := r.Ticket(m.Attribute)
		return n, r.Err
	}
}

// MaxRaise is how far above the number that it has just issued a counter may be
// raised. A counter that was lost after years must still be: at 1,000 numbers a
// second, as many as one item takes, 2^48 lasts for 8,900 years, and a counter
// that follows the time in steps of 0.1 ms passes it in 890. One that is raised
// by a mistake is as far below 2^53, up to which JSON keeps numbers exactly.
const MaxRaise = 1 << 48

// ErrFar says that a counter was not raised, because the number was more than
// MaxRaise above the one that it had issued: no waiter can have been given it.
var ErrFar = errors.New("the number is too far above those that the counter issues")

// Raise sets a counter that stands below a number to it:
//
//	SET ticketNumber = :n if ticketNumber < :n
//
// It is for a counter that has issued numbers which were used before: it was
// deleted, or came back from a backup. issued is such a number. A counter that
// is higher, or missing, is left alone, and is a success. One request; none for
// ErrFar. Calling again is safe.
func (m Master) Raise(ctx context.Context, issued, to ticket.Number) error {
	if to.After(issued) > MaxRaise {
		return ErrFar
	}
	number, value := expression.NameNoDotSplit(m.Attribute), expression.Value(to.Attribute())
	_, err := m.Store.Update(ctx, m.Key, expression.Set(number, value), number.LessThan(value))
	if _, refused := errors.AsType[*table.Refused](err); refused {
		return nil
	}
	return err
}
