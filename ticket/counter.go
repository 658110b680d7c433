package ticket

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
)

// Next issues a number of a plain counter, an item that holds nothing else:
// NUMBER of the protocol. One request; one more for the first number of all,
// which seeds it, and more if others seed it at the same time. Calling
// again is safe after any error: a number whose answer was lost is burnt, and
// nobody waits for it.
func (m Master) Next(ctx context.Context) (Number, error) {
	for {
		item, err := m.Take(ctx, Rider{})
		switch {
		case errors.Is(err, ErrSeeded) && ctx.Err() == nil:
			continue
		case err != nil:
			return Number{}, err
		}
		r := &table.Reader{What: m.What, Item: item}
		n := Read(r, m.Attribute)
		return n, r.Err
	}
}

// Raise sets a counter that stands below a number to it:
//
//	SET ticketNumber = :n if ticketNumber < :n
//
// It is for a counter that has issued numbers which were used before: it was
// deleted, or came back from a backup. One that is higher, or missing, is left
// alone, and is a success. One request. Calling again is safe.
func (m Master) Raise(ctx context.Context, to Number) error {
	number, value := expression.NameNoDotSplit(m.Attribute), expression.Value(to.Attribute())
	_, err := m.Store.Update(ctx, m.Key, expression.Set(number, value), number.LessThan(value))
	if _, refused := errors.AsType[*table.Refused](err); refused {
		return nil
	}
	return err
}
