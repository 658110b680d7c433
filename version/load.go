package version

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Load reads the item with its version, consistently. key has the key attributes;
// others are ignored. Returns
//
//   - an error at once if the key is invalid.
//   - ErrNotFound if the item does not exist.
//   - *MalformedError if its version cannot be read.
//   - any other error of DynamoDB or ctx.
func (t *Table) Load(ctx context.Context, key Attributes) (Item, error) {
	if err := t.validateKey(key); err != nil {
		return Item{}, fmt.Errorf("version: load: %w", err)
	}
	current, err := t.read(ctx, key)
	switch {
	case err != nil:
		return Item{}, fmt.Errorf("version: load %s: %w", t.show(key), err)
	case current == nil:
		return Item{}, fmt.Errorf("%w: %s", ErrNotFound, t.show(key))
	}
	return *current, nil
}

// read returns the item, or nil if there is none.
func (t *Table) read(ctx context.Context, key Attributes) (*Item, error) {
	var found Attributes
	o := t.send(ctx, func(ctx context.Context, fns ...func(*dynamodb.Options)) error {
		out, err := t.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: t.keyOf(key), ConsistentRead: aws.Bool(true)}, fns...)
		if err == nil {
			found = out.Item
		}
		return err
	})
	if o.err != nil || len(found) == 0 {
		return nil, o.err
	}
	return t.pointer(found)
}

// pointer is decode with a pointer as its result.
func (t *Table) pointer(found Attributes) (*Item, error) {
	item, err := t.decode(found)
	if err != nil {
		return nil, err
	}
	return &item, nil
}
