package version

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// SaveItem returns Save as a part of a TransactWriteItems of the caller's own, and the
// item as it then is, for Outcome. It makes no request. Returns an error if the item is
// invalid. The SDK's ClientRequestToken keeps a transaction from being made twice
// within ten minutes.
func (t *Table) SaveItem(item Item, opts ...Option) (types.TransactWriteItem, Item, error) {
	o, err := with(context.Background(), opts)
	if err == nil {
		err = t.validate(item)
	}
	if err != nil {
		return types.TransactWriteItem{}, Item{}, fmt.Errorf("version: save: %w", err)
	}
	c, next := t.unchanged(item), t.next(item, o.token)
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &t.name, Item: t.encode(next),
		ConditionExpression: &c.expression, ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}, next, nil
}

// DeleteItem returns Delete as a part of a transaction, as SaveItem does Save.
func (t *Table) DeleteItem(item Item) (types.TransactWriteItem, error) {
	err := t.validate(item)
	if err == nil && !item.stored {
		err = fmt.Errorf("item %s was not loaded", t.show(item.Attributes))
	}
	if err != nil {
		return types.TransactWriteItem{}, fmt.Errorf("version: delete: %w", err)
	}
	c := t.unchanged(item)
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: &t.name, Key: item.key,
		ConditionExpression: &c.expression, ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}, nil
}

// CheckItem returns a part by which a transaction is made only if the item is as it was
// loaded, or still absent if it was not loaded. It makes no request.
func (t *Table) CheckItem(item Item) (types.TransactWriteItem, error) {
	if err := t.validate(item); err != nil {
		return types.TransactWriteItem{}, fmt.Errorf("version: check: %w", err)
	}
	c := t.unchanged(item)
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &t.name, Key: t.keyOf(item.Attributes),
		ConditionExpression: &c.expression, ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}, nil
}

// Outcome returns what the error of a transaction means for the item that SaveItem
// returned as its part number at, counted from 0. It makes no request. Returns
//
//   - nil if the item already has the write, because the transaction was made before.
//   - *ConflictError, joined with err, if that part was refused. Current may be nil.
//   - err as it is otherwise.
func (t *Table) Outcome(err error, at int, saved Item) error {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) || at < 0 || at >= len(canceled.CancellationReasons) {
		return err
	}
	reason := canceled.CancellationReasons[at]
	if reason.Code == nil || *reason.Code != string(types.BatchStatementErrorCodeEnumConditionalCheckFailed) {
		return err
	}
	var current *Item
	if len(reason.Item) > 0 {
		found, decodeErr := t.pointer(reason.Item)
		if decodeErr != nil {
			return fmt.Errorf("%w: %w", decodeErr, err)
		}
		current = found
	}
	if current != nil && len(saved.tokens) > 0 && current.Wrote(saved.tokens[0]) {
		return nil
	}
	before := Item{Attributes: saved.Attributes, stored: true, version: saved.version - 1}
	return fmt.Errorf("%w: %w", t.conflict(before, current), err)
}
