package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

// A check tries one property. It collects its failures instead of reporting them, so that a known difference can be
// distinguished from an unknown one. Its methods are for the goroutine that runs the check.
type check struct {
	t     *testing.T // for what an engine cannot be blamed for
	ctx   context.Context
	db    *dynamodb.Client
	table string
	pk    string // the partition that is this check's own

	failures []string
}

// stopped ends a check whose next steps make no sense.
type stopped struct{}

func (c *check) run(f func(c *check)) {
	defer func() {
		if r := recover(); r != nil && r != (stopped{}) {
			panic(r)
		}
	}()
	f(c)
}

func (c *check) Errorf(format string, args ...any) {
	c.failures = append(c.failures, fmt.Sprintf(format, args...))
}

func (c *check) Fatalf(format string, args ...any) {
	c.Errorf(format, args...)
	panic(stopped{})
}

// must ends the check on an error.
func (c *check) must(err error) {
	if err != nil {
		c.Fatalf("unexpected error: %v", err)
	}
}

// same compares what was got with what is wanted.
func (c *check) same(what string, got, want any) {
	if diff := cmp.Diff(want, got, avOptions); diff != "" {
		c.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// key returns the primary key of the item at sk in the check's own partition.
func (c *check) key(sk string) item { return item{"pk": str(c.pk), "sk": str(sk)} }

// with returns the item at sk with these attributes.
func (c *check) with(sk string, attributes item) item {
	it := c.key(sk)
	maps.Copy(it, attributes)
	return it
}

// given puts the item at sk, unconditionally.
func (c *check) given(sk string, attributes item) {
	c.must(errorOf(c.put(sk, attributes, op{})))
}

// stored returns the attributes of the item at sk without its keys; nil if there is none.
func (c *check) stored(sk string) item {
	out, err := c.db.GetItem(c.ctx, &dynamodb.GetItemInput{TableName: &c.table, Key: c.key(sk), ConsistentRead: aws.Bool(true)})
	c.must(err)
	return withoutKeys(out.Item)
}

// holds compares the stored item at sk with what it should be.
func (c *check) holds(sk string, want item) { c.same("the stored item", c.stored(sk), want) }

func withoutKeys(it item) item {
	rest := maps.Clone(it)
	delete(rest, "pk")
	delete(rest, "sk")
	return rest
}

// An op is the part of a write that checks vary. An empty string or map leaves the parameter out.
type op struct {
	update, condition string
	names             map[string]string
	values            item
	returns           types.ReturnValue
	failedItem        bool // ask a failed condition for the item
}

func (o op) failed() types.ReturnValuesOnConditionCheckFailure {
	if o.failedItem {
		return types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return ""
}

// update sends an UpdateItem for sk, and returns the attributes that the response carries.
func (c *check) update(sk string, o op) (item, error) {
	out, err := c.db.UpdateItem(c.ctx, &dynamodb.UpdateItemInput{
		TableName: &c.table, Key: c.key(sk),
		UpdateExpression: optional(o.update), ConditionExpression: optional(o.condition),
		ExpressionAttributeNames: o.names, ExpressionAttributeValues: o.values,
		ReturnValues: o.returns, ReturnValuesOnConditionCheckFailure: o.failed(),
	})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// put sends a PutItem of these attributes at sk.
func (c *check) put(sk string, attributes item, o op) (item, error) {
	out, err := c.db.PutItem(c.ctx, &dynamodb.PutItemInput{
		TableName: &c.table, Item: c.with(sk, attributes),
		ConditionExpression:      optional(o.condition),
		ExpressionAttributeNames: o.names, ExpressionAttributeValues: o.values,
		ReturnValues: o.returns, ReturnValuesOnConditionCheckFailure: o.failed(),
	})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// delete sends a DeleteItem for sk.
func (c *check) delete(sk string, o op) (item, error) {
	out, err := c.db.DeleteItem(c.ctx, &dynamodb.DeleteItemInput{
		TableName: &c.table, Key: c.key(sk),
		ConditionExpression:      optional(o.condition),
		ExpressionAttributeNames: o.names, ExpressionAttributeValues: o.values,
		ReturnValues: o.returns, ReturnValuesOnConditionCheckFailure: o.failed(),
	})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// errorOf returns the error of a request whose answer is of no interest.
func errorOf[T any](_ T, err error) error { return err }

// answer returns the attributes that a write returns, which must succeed.
func (c *check) answer(got item, err error) item {
	c.must(err)
	return got
}

// makes wants an update to make an item of another.
func (c *check) makes(was item, o op, is item) {
	c.given("x", was)
	c.must(errorOf(c.update("x", o)))
	c.holds("x", is)
}

// refusedByCondition wants err to be a failed condition, and returns the item that came with it.
func (c *check) refusedByCondition(err error) item {
	if err == nil {
		c.Fatalf("the condition held, but should have failed")
	}
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		c.Fatalf("want ConditionalCheckFailedException, got: %v", err)
	}
	return failed.Item
}

// invalid wants err to be a ValidationException whose message contains all the parts.
func (c *check) invalid(err error, parts ...string) {
	if err == nil {
		c.Errorf("accepted, but should have been refused with %q", parts)
		return
	}
	var apiError smithy.APIError
	if !errors.As(err, &apiError) || apiError.ErrorCode() != "ValidationException" {
		c.Errorf("want a ValidationException with %q, got: %v", parts, err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(apiError.ErrorMessage(), part) {
			c.Errorf("want a message with %q, got: %s", part, apiError.ErrorMessage())
		}
	}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
