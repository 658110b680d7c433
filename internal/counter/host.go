package counter

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
)

// ErrNoItem says that the user's own item, on which the counter stands, is
// missing. Nothing was written.
var ErrNoItem = errors.New("there is no such item")

// fresh reports whether the item has nothing of the counter, or of what rides on
// it.
func (m Master) fresh(item table.Item) bool {
	return !slices.ContainsFunc(m.Names, func(name string) bool { _, ok := item[name]; return ok })
}

// seedHost adds the counter, with ticket 1, to the user's item, and leaves the
// rest of it alone:
//
//	SET ticketNumber = 1, … if attribute_exists(key)
//	   AND attribute_not_exists(ticketNumber) AND …
//
// The first part is left out if a missing item may be created.
func (m Master) seedHost(ctx context.Context, rider Rider) (table.Item, error) {
	counter := expression.NameNoDotSplit(m.Attribute)
	update, condition := expression.Set(counter, one), expression.AttributeNotExists(counter)
	for _, name := range slices.Sorted(maps.Keys(rider.Seed)) {
		update = update.Set(expression.NameNoDotSplit(name), expression.Value(rider.Seed[name]))
	}
	for _, name := range m.Names {
		if name != m.Attribute {
			condition = condition.And(expression.AttributeNotExists(expression.NameNoDotSplit(name)))
		}
	}
	if !m.Create {
		for _, name := range slices.Sorted(maps.Keys(m.Key))[:1] {
			condition = expression.AttributeExists(expression.NameNoDotSplit(name)).And(condition)
		}
	}
	item, err := m.Store.Update(ctx, m.Key, update, condition, table.Once())
	refused, ok := errors.AsType[*table.Refused](err)
	if !ok {
		return item, err
	}
	there, err := refused.Read(ctx)
	switch {
	case err != nil:
		return nil, err
	case there == nil && !m.Create:
		return nil, ErrNoItem // deleted in between
	case m.fresh(there):
		return nil, ErrSeeded // and deleted since: take again
	}
	if problem := m.problem(there); problem != nil {
		return nil, table.NotApplied(problem)
	}
	return there, ErrSeeded
}
