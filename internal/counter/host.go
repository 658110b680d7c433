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

// look sees to it that a refusal has the item that refused: it is read where
// the engine is not known to show it. A missing one is ErrNoItem, unless it may
// be created.
func (m Master) look(ctx context.Context, refused *table.Refused) (err error) {
	if refused.Item == nil && !m.Create && !m.Store.ShowsRefusing() {
		if refused.Item, err = m.Store.Get(ctx, m.Key); err != nil {
			return table.NotMade(err)
		}
	}
	if refused.Item == nil && !m.Create {
		return ErrNoItem
	}
	return nil
}

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
	if refused.Item == nil {
		if refused.Item, err = m.Store.Get(ctx, m.Key); err != nil {
			return nil, table.NotMade(err)
		}
	}
	switch {
	case refused.Item == nil && !m.Create:
		return nil, ErrNoItem // deleted in between
	case m.fresh(refused.Item):
		return nil, ErrSeeded // and deleted since: take again
	}
	if problem := m.problem(refused.Item); problem != nil {
		return nil, table.NotMade(problem)
	}
	return refused.Item, ErrSeeded
}
