package optimistic

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// refusing has a refusal carry the item that caused it.
const refusing = types.ReturnValuesOnConditionCheckFailureAllOld

// errWritten says that an item was loaded with the write that is to be made.
var errWritten = errors.New("the item has the write of this token already")

// SaveItem returns Save as a part of a TransactWriteItems of the caller's own, and the item as it then is, for
// Outcome. It makes no request. Returns an error if the item is invalid, or was loaded with the write of the given
// WithToken. The SDK's ClientRequestToken keeps a transaction from being made twice within ten minutes.
func (t *Table) SaveItem(item Item, opts ...Option) (types.TransactWriteItem, Item, error) {
	return t.saveItem(context.Background(), item, opts)
}

func (t *Table) saveItem(ctx context.Context, item Item, opts []Option) (
	part types.TransactWriteItem, next Item, err error) {
	o, err := with(ctx, opts)
	if err == nil {
		err = t.validate(item)
	}
	if err == nil && item.Wrote(o.token) {
		err = fmt.Errorf("item %s, token %.60q: %w", t.show(item.Attributes), o.token, errWritten)
	}
	if err != nil {
		return part, next, fmt.Errorf("optimistic: save: %w", err)
	}
	next = t.next(item, o.token)
	cond, names, values := t.unchanged(item)
	part.Put = &types.Put{
		TableName: &t.name, Item: t.encode(next), ReturnValuesOnConditionCheckFailure: refusing,
		ConditionExpression: cond, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}
	return part, next, nil
}

// DeleteItem returns Delete as a part of a transaction, as SaveItem does Save.
func (t *Table) DeleteItem(item Item) (part types.TransactWriteItem, err error) {
	err = t.validate(item)
	if err == nil && !item.stored {
		err = fmt.Errorf("item %s was not loaded", t.show(item.Attributes))
	}
	if err != nil {
		return part, fmt.Errorf("optimistic: delete: %w", err)
	}
	cond, names, values := t.unchanged(item)
	part.Delete = &types.Delete{
		TableName: &t.name, Key: item.key, ReturnValuesOnConditionCheckFailure: refusing,
		ConditionExpression: cond, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}
	return part, nil
}

// CheckItem returns a part by which a transaction is made only if the item is as it was loaded, or still absent
// if it was not loaded. It makes no request.
func (t *Table) CheckItem(item Item) (part types.TransactWriteItem, err error) {
	if err := t.validate(item); err != nil {
		return part, fmt.Errorf("optimistic: check: %w", err)
	}
	cond, names, values := t.unchanged(item)
	part.ConditionCheck = &types.ConditionCheck{
		TableName: &t.name, Key: t.keyOf(item.Attributes), ReturnValuesOnConditionCheckFailure: refusing,
		ConditionExpression: cond, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}
	return part, nil
}

// Outcome returns what the error of a transaction means for the item that SaveItem returned as its part number
// at, counted from 0. It makes no request. Returns
//
//   - nil if the item already has the write, because the transaction was made before.
//   - [*ConflictError], joined with err, if that part was refused. Current may be nil. If an earlier attempt had
//     no answer, it may have been made: 16 later writes, or a deletion, hide it.
//   - err as it is otherwise.
func (t *Table) Outcome(err error, at int, saved Item) error {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || at < 0 || at >= len(canceled.CancellationReasons) {
		return err
	}
	reason := canceled.CancellationReasons[at]
	if aws.ToString(reason.Code) != string(types.BatchStatementErrorCodeEnumConditionalCheckFailed) {
		return err
	}
	var current *Item
	if len(reason.Item) > 0 {
		found, malformed := t.decode(reason.Item)
		switch {
		case malformed != nil:
			return fmt.Errorf("%w: %w", malformed, err)
		case len(saved.tokens) > 0 && found.Wrote(saved.tokens[0]):
			return nil
		}
		current = found
	}
	before := Item{Attributes: saved.Attributes, stored: true, version: saved.version - 1}
	return fmt.Errorf("%w: %w", t.conflict(before, current), err)
}
