package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// right is one action of IAM, and a request that needs it and writes nothing.
type right struct {
	action string
	try    func(context.Context, Subject) error
}

// impossible is a condition that is false for the scratch key, which has no item.
const impossible = "attribute_exists(#pk)"

func (s Subject) names() map[string]string { return map[string]string{"#pk": s.PartitionKey} }

var (
	getItem = right{"GetItem", func(ctx context.Context, s Subject) error {
		_, err := s.DB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.Table, Key: s.scratch(), ConsistentRead: aws.Bool(true)})
		return err
	}}
	query = right{"Query", func(ctx context.Context, s Subject) error {
		_, err := s.DB.Query(ctx, &dynamodb.QueryInput{
			TableName: &s.Table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("#pk = :pk"), ExpressionAttributeNames: s.names(),
			ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: scratchEntity}},
		})
		return err
	}}
	putItem = right{"PutItem", func(ctx context.Context, s Subject) error {
		_, err := s.DB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Table, Item: s.scratch(), ConditionExpression: aws.String(impossible), ExpressionAttributeNames: s.names()})
		return err
	}}
	updateItem = right{"UpdateItem", func(ctx context.Context, s Subject) error {
		_, err := s.DB.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &s.Table, Key: s.scratch(), ConditionExpression: aws.String(impossible), ExpressionAttributeNames: s.names()})
		return err
	}}
	deleteItem = right{"DeleteItem", func(ctx context.Context, s Subject) error {
		_, err := s.DB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.Table, Key: s.scratch(), ConditionExpression: aws.String(impossible), ExpressionAttributeNames: s.names()})
		return err
	}}
	conditionCheck = right{"ConditionCheckItem", func(ctx context.Context, s Subject) error {
		_, err := s.DB.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{ConditionCheck: &types.ConditionCheck{
			TableName: &s.Table, Key: s.scratch(), ConditionExpression: aws.String(impossible), ExpressionAttributeNames: s.names(),
		}}}})
		return err
	}}
	scan = right{"Scan", func(ctx context.Context, s Subject) error {
		_, err := s.DB.Scan(ctx, &dynamodb.ScanInput{TableName: &s.Table, Limit: aws.Int32(1)})
		return err
	}}
	describe = right{"DescribeTable", func(ctx context.Context, s Subject) error {
		_, err := s.DB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.Table})
		return err
	}}
)

// roles are the rights that each role needs beyond those of the roles before it.
var roles = []struct {
	name     string
	rights   []right
	required bool
	without  string // what does not work then
}{
	{"rights to lock", []right{getItem, query, putItem, updateItem, deleteItem}, true, "nothing works"},
	{"rights to transact", []right{conditionCheck}, false, "transactions that only check the lock are refused"},
	{"rights to observe", []right{scan, describe}, false, "'queuelock ls' and 'queuelock top' do not work"},
}

// rights tries the actions of each role.
func (s Subject) rights(ctx context.Context) (results []Result) {
	for _, role := range roles {
		var all, missing, failures []string
		for _, r := range role.rights {
			all = append(all, r.action)
			switch err := r.try(ctx, s); {
			case denied(err):
				missing = append(missing, "dynamodb:"+r.action)
			case err != nil && !refused(err):
				failures = append(failures, r.action+": "+brief(err))
			}
		}
		switch {
		case len(missing) > 0:
			status := Warning
			if role.required {
				status = Failed
			}
			results = append(results, Result{role.name, status, "missing " + strings.Join(missing, ", "),
				role.without + ": add them ('queuelock template iam' prints a policy)"})
		case len(failures) > 0:
			results = append(results, Result{role.name, Failed, strings.Join(failures, "; "), "an engine that refuses such a request does not suit the library"})
		default:
			results = append(results, Result{role.name, OK, strings.Join(all, ", "), ""})
		}
	}
	return results
}

// refused reports whether a write was refused by its condition, as it must be.
func refused(err error) bool {
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return true
	}
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && len(canceled.CancellationReasons) == 1 && aws.ToString(canceled.CancellationReasons[0].Code) == "ConditionalCheckFailed"
}

// Worst returns the gravest status of the results.
func Worst(results []Result) Status {
	worst := OK
	for _, r := range results {
		if gravity(r.Status) > gravity(worst) {
			worst = r.Status
		}
	}
	return worst
}

func gravity(s Status) int {
	switch s {
	case Failed:
		return 3
	case Warning:
		return 2
	case Skipped:
		return 1
	}
	return 0
}

// String returns the result in one line.
func (r Result) String() string {
	line := fmt.Sprintf("%-8s %-20s %s", r.Status, r.Name, r.Found)
	if r.Advice != "" {
		line += ": " + r.Advice
	}
	return line
}
