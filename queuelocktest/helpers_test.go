package queuelocktest_test

import (
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/queuelocktest"
)

type item = map[string]types.AttributeValue

var str, num = av.Str, av.Num

func key(pk, sk string) item { return item{"pk": str(pk), "sk": str(sk)} }

// once turns the SDK's retries off.
func once(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }

// put writes an item if there is none yet.
func put(t *testing.T, c *queuelocktest.Client, pk, sk string, optFns ...func(*dynamodb.Options)) error {
	_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName:                           aws.String("queuelock"),
		Item:                                key(pk, sk),
		ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, optFns...)
	return err
}

// count adds one to a counter, whether or not it exists, and returns it.
func count(t *testing.T, c *queuelocktest.Client, pk, sk string, optFns ...func(*dynamodb.Options)) (string, error) {
	out, err := c.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 aws.String("queuelock"),
		Key:                       key(pk, sk),
		UpdateExpression:          aws.String("ADD #n :one"),
		ExpressionAttributeNames:  map[string]string{"#n": "ticketNumber"},
		ExpressionAttributeValues: item{":one": num(1)},
		ReturnValues:              types.ReturnValueAllNew,
	}, optFns...)
	if err != nil {
		return "", err
	}
	return out.Attributes["ticketNumber"].(*types.AttributeValueMemberN).Value, nil
}

// counter is the value count has reached, read around all faults.
func counter(table *queuelocktest.Table) int {
	sum := 0
	for _, it := range table.Items() {
		if n, ok := it["ticketNumber"].(*types.AttributeValueMemberN); ok {
			v, _ := strconv.Atoi(n.Value)
			sum += v
		}
	}
	return sum
}
