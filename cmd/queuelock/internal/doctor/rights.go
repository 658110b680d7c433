package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// try sends a request that needs an action of IAM, and writes nothing: the scratch key has no item.
func (s Subject) try(ctx context.Context, action string) (err error) {
	key, exists, names := s.scratch(), aws.String("attribute_exists(#pk)"), s.names()
	switch action {
	case "GetItem":
		_, err = s.DB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.Table, Key: key, ConsistentRead: aws.Bool(true)})
	case "Query":
		_, err = s.DB.Query(ctx, s.items(scratchEntity))
	case "PutItem":
		_, err = s.DB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Table, Item: key, ConditionExpression: exists, ExpressionAttributeNames: names})
	case "UpdateItem":
		_, err = s.DB.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &s.Table, Key: key, ConditionExpression: exists, ExpressionAttributeNames: names})
	case "DeleteItem":
		_, err = s.DB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.Table, Key: key, ConditionExpression: exists, ExpressionAttributeNames: names})
	case "ConditionCheckItem":
		check := &types.ConditionCheck{TableName: &s.Table, Key: key, ConditionExpression: exists, ExpressionAttributeNames: names}
		_, err = s.DB.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{ConditionCheck: check}}})
	case "Scan":
		_, err = s.DB.Scan(ctx, &dynamodb.ScanInput{TableName: &s.Table, Limit: aws.Int32(1)})
	case "DescribeTable":
		_, err = s.DB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.Table})
	}
	return err
}

func (s Subject) items(entity string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: &s.Table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("#pk = :pk"), ExpressionAttributeNames: s.names(),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: entity}},
	}
}

func (s Subject) names() map[string]string { return map[string]string{"#pk": s.PartitionKey} }

// roles are the rights that each role needs beyond those of the roles before it.
var roles = []struct {
	name    string
	actions []string
	status  Status // without one of them
	without string // what does not work then
}{
	{"rights to lock", []string{"GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"}, Failed, "nothing works"},
	{"rights to transact", []string{"ConditionCheckItem"}, Warning, "transactions that only check the lock are refused"},
	{"rights to observe", []string{"Scan", "DescribeTable"}, Warning, "'queuelock ls' and 'queuelock top' do not work"},
}

func (s Subject) rights(ctx context.Context, report func(Result)) {
	for _, role := range roles {
		var missing, failures []string
		for _, action := range role.actions {
			switch err := s.try(ctx, action); {
			case Denied(err):
				missing = append(missing, "dynamodb:"+action)
			case err != nil && !refused(err):
				failures = append(failures, action+": "+brief(err))
			}
		}
		switch {
		case len(missing) > 0:
			report(Result{role.name, role.status, "missing " + strings.Join(missing, ", "),
				role.without + ": add them ('queuelock template iam' prints a policy)"})
		case len(failures) > 0:
			report(Result{role.name, Failed, strings.Join(failures, "; "), "an engine that refuses such a request does not suit the library"})
		default:
			report(Result{role.name, OK, strings.Join(role.actions, ", "), ""})
		}
	}
}

func refused(err error) bool {
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return true
	}
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && len(canceled.CancellationReasons) == 1 && aws.ToString(canceled.CancellationReasons[0].Code) == "ConditionalCheckFailed"
}

// Worst returns the gravest status of the results.
func Worst(results []Result) Status {
	order := []Status{OK, Skipped, Warning, Failed}
	worst := 0
	for _, r := range results {
		worst = max(worst, slices.Index(order, r.Status))
	}
	return order[worst]
}

// String returns the result in one line.
func (r Result) String() string {
	line := fmt.Sprintf("%-8s %-20s %s", r.Status, r.Name, r.Found)
	if r.Advice != "" {
		line += ": " + r.Advice
	}
	return line
}
