package optimistic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/random"
)

// Option changes one Save, SaveItem or Update.
type Option func(*options)

type options struct {
	token  string
	create bool
}

// WithToken names the write, so that it can be repeated, also by another process. A write is not made twice
// while the item remembers its token, as one of the latest 16. The token must be unique among the item's
// writes: 1 to 40 printable ASCII characters without spaces. The default is a random one for each call.
func WithToken(token string) Option { return func(o *options) { o.token = token } }

// OrCreate lets Update start from an item with only its key if there is none.
func OrCreate() Option { return func(o *options) { o.create = true } }

const (
	maxToken    = 40 // bounds what sixteen tokens add to an item
	tokenLength = 13 // of the package's own tokens: 65 random bits
)

func with(ctx context.Context, opts []Option) (options, error) {
	o := options{token: random.Text(ctx)[:tokenLength]}
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
	if o.token == "" || len(o.token) > maxToken || strings.ContainsFunc(o.token, unprintable) {
		return o, fmt.Errorf("token %.60q: need 1 to %d printable ASCII characters without spaces", o.token, maxToken)
	}
	return o, nil
}

// Save writes the whole item with a version one higher, if it is in the table as it was loaded, or if it was
// not loaded and does not exist. It returns the item as it then is, which may have later changes of others if
// an answer was lost. It writes nothing to an item that was loaded with the write of the given WithToken. Returns
//
//   - [*ConflictError], which matches [ErrConflict]. Nothing was written.
//   - [ErrUnknown] if the write may have been made.
//   - [*queue.TableError] if the table is missing or has another key. Nothing was written.
//   - any other error if the item is invalid, or if DynamoDB refused or ctx ended first. Nothing was written.
func (t *Table) Save(ctx context.Context, item Item, opts ...Option) (Item, error) {
	part, next, err := t.saveItem(ctx, item, opts)
	switch {
	case errors.Is(err, errWritten):
		return t.Load(ctx, item.Attributes)
	case err != nil:
		return Item{}, err
	}
	p := part.Put
	sent := t.send(ctx, item.Attributes, func(ctx context.Context, once func(*dynamodb.Options)) error {
		_, err := t.db.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: p.TableName, Item: p.Item, ConditionExpression: p.ConditionExpression,
			ExpressionAttributeNames: p.ExpressionAttributeNames, ExpressionAttributeValues: p.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: p.ReturnValuesOnConditionCheckFailure,
		}, once)
		return err
	})
	if sent.err == nil {
		return next, nil
	}
	current, err := t.whatRefused(sent)
	switch {
	case err != nil:
		return Item{}, t.failed("save", item, err, sent.lost)
	case current != nil && current.Wrote(next.tokens[0]):
		return *current, nil
	case sent.lost && !remembers(current, item):
		err = fmt.Errorf("an answer was lost, and the item does not show any more whether the write was made: %w", sent.err)
		return Item{}, t.failed("save", item, err, true)
	}
	return Item{}, t.conflict(item, current)
}

// Delete removes the item if it is in the table as it was loaded. Errors are those of Save. An item that is
// gone after an answer was lost counts as removed by this call.
func (t *Table) Delete(ctx context.Context, item Item) error {
	part, err := t.DeleteItem(item)
	if err != nil {
		return err
	}
	d := part.Delete
	sent := t.send(ctx, item.Attributes, func(ctx context.Context, once func(*dynamodb.Options)) error {
		_, err := t.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: d.TableName, Key: d.Key, ConditionExpression: d.ConditionExpression,
			ExpressionAttributeNames: d.ExpressionAttributeNames, ExpressionAttributeValues: d.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: d.ReturnValuesOnConditionCheckFailure,
		}, once)
		return err
	})
	if sent.err == nil {
		return nil
	}
	current, err := t.whatRefused(sent)
	switch {
	case err != nil:
		return t.failed("delete", item, err, sent.lost)
	case sent.lost && current == nil:
		return nil
	case sent.lost && (len(item.tokens) == 0 || !remembers(current, item)):
		return t.failed("delete", item, fmt.Errorf("an answer was lost, and another item has its key: %w", sent.err), true)
	}
	return t.conflict(item, current)
}

// whatRefused returns the item that refused a write, or nil if it does not exist.
func (t *Table) whatRefused(sent outcome) (*Item, error) {
	refused, ok := errors.AsType[*types.ConditionalCheckFailedException](sent.err)
	switch {
	case !ok:
		return nil, sent.err
	case len(refused.Item) == 0:
		return nil, nil
	}
	return t.decode(refused.Item)
}

// remembers reports whether current has the tokens of all writes since item was loaded. Then a write whose
// token it lacks was not made. An item that was deleted and made again does not have them, although a late
// create, or an Update that was repeated with its token, may have put the latest of them there.
func remembers(current *Item, item Item) bool {
	switch {
	case current == nil:
		return false
	case len(item.tokens) == 0: // of an item without a version, or without an item, nothing would show that
		since := current.version - item.version
		return item.version > 0 && since == int64(len(current.tokens)) && since < maxTokens
	}
	since := slices.Index(current.tokens, item.tokens[0])
	return since >= 0 && current.version-item.version >= int64(since) &&
		slices.Equal(current.tokens[since:], item.tokens[:min(len(item.tokens), maxTokens-since)])
}

// failed makes the error of a write that was not refused, or whose outcome is unknown.
func (t *Table) failed(what string, item Item, err error, unknown bool) error {
	if unknown {
		return fmt.Errorf("%w: %s %s: %w", ErrUnknown, what, t.show(item.Attributes), err)
	}
	if _, malformed := errors.AsType[*MalformedError](err); malformed {
		return err
	}
	return fmt.Errorf("optimistic: %s %s: %w", what, t.show(item.Attributes), err)
}

func (t *Table) conflict(item Item, current *Item) *ConflictError {
	return &ConflictError{Current: current, key: t.show(item.Attributes), expected: item.state()}
}

// unchanged returns a condition, with its names and values, that holds while the item is in the table as it was
// loaded. The tokens distinguish it from an item that was deleted and created again.
func (t *Table) unchanged(item Item) (*string, map[string]string, map[string]types.AttributeValue) {
	cond := "#version = :version AND #tokens = :tokens"
	names := map[string]string{"#version": t.cfg.VersionAttribute, "#tokens": t.cfg.TokenAttribute}
	values := map[string]types.AttributeValue{
		":version": &types.AttributeValueMemberN{Value: strconv.FormatInt(item.version, 10)},
		":tokens":  &types.AttributeValueMemberS{Value: strings.Join(item.tokens, " ")},
	}
	switch {
	case !item.stored:
		cond, names, values = "attribute_not_exists(#key)", map[string]string{"#key": t.keys[0]}, nil
	case item.version == 0:
		cond, values = "attribute_exists(#key) AND attribute_not_exists(#version) AND attribute_not_exists(#tokens)", nil
		names["#key"] = t.keys[0]
	case len(item.tokens) == 0:
		cond = "#version = :version AND attribute_not_exists(#tokens)"
		delete(values, ":tokens")
	}
	return &cond, names, values
}
