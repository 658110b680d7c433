package version

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// SaveItem is Save as a part of a TransactWriteItems of the caller's own, so
// that other items are written if and only if it is. It returns that part, and
// the item as it is once the transaction is made: pass it to Outcome with the
// transaction's error. It makes no request, and costs two write units in the
// transaction. The error says what is wrong with the item.
//
// The SDK sends a transaction with a ClientRequestToken, so that one whose
// answer was lost is not made twice by its repetitions within ten minutes.
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

// DeleteItem is Delete as a part of a transaction, as SaveItem is Save.
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

// CheckItem lets a transaction be made only if the item, which it reads but does
// not write, is as it was loaded; or is still absent, if it was not loaded. It
// makes no request, and costs two write units in the transaction.
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

// Outcome says what the error of a transaction means for the item that SaveItem
// returned and that was its part number at, counted from 0. If that part was
// refused, it is a *ConflictError, which matches ErrConflict (its Current is nil
// also on engines that do not return it), joined with err; or nil, if the item
// has the write in it: the transaction was made before. Any other err, nil too,
// is returned as it is. It makes no request.
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
