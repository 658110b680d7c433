package engines

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// capabilities are what engines are known to differ in, and what the library therefore has two ways for. They are
// measured, once per engine: a newer release may gain one.
type capabilities struct {
	returnsFailedItem bool
	sendsDate         bool
}

// ReturnsFailedItem reports whether a put, update or delete whose condition failed returns the item when asked to
// (ReturnValuesOnConditionCheckFailure). Engines from before 2023 do not, and the library then reads it instead.
func (e Engine) ReturnsFailedItem(t testing.TB) bool {
	t.Helper()
	return e.capabilities(t).returnsFailedItem
}

// SendsDate reports whether responses carry a Date header. Without it the library cannot estimate the server's clock,
// and judges expiry by observation.
func (e Engine) SendsDate(t testing.TB) bool {
	t.Helper()
	return e.capabilities(t).sendsDate
}

func (e Engine) capabilities(t testing.TB) capabilities {
	t.Helper()
	r := e.start(t)
	r.probe.Lock()
	defer r.probe.Unlock()
	if r.found == nil {
		found, err := measure(r.client())
		if err != nil {
			t.Fatalf("%s: measuring what it is capable of: %v", e.Name, err)
		}
		r.found = &found
	}
	return *r.found
}

// measure puts the same item twice into a table of its own, the second time on the condition that it is not there.
func measure(db *dynamodb.Client) (found capabilities, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()

	table := aws.String("queuelock-probe-" + rand.Text())
	if _, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            table,
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
	}); err != nil {
		return found, err
	}
	defer func() {
		_, deleteErr := db.DeleteTable(context.WithoutCancel(ctx), &dynamodb.DeleteTableInput{TableName: table})
		err = errors.Join(err, deleteErr)
	}()
	exists := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 100 * time.Millisecond })
	if err := exists.Wait(ctx, &dynamodb.DescribeTableInput{TableName: table}, startLimit); err != nil {
		return found, err
	}

	put := &dynamodb.PutItemInput{
		TableName:                           table,
		Item:                                map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "probe"}},
		ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	first, err := db.PutItem(ctx, put)
	if err != nil {
		return found, err
	}
	_, found.sendsDate = awsmiddleware.GetServerTime(first.ResultMetadata)

	_, err = db.PutItem(ctx, put)
	var refused *types.ConditionalCheckFailedException
	if !errors.As(err, &refused) {
		return found, fmt.Errorf("the second put should have failed its condition: %w", err)
	}
	found.returnsFailedItem = len(refused.Item) > 0
	return found, nil
}
