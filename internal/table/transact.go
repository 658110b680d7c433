package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
)

const (
	transactWriteItems = "TransactWriteItems"
	transactGetItems   = "TransactGetItems"
)

// A client that only locks need not have these.
type transactor interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...Option) (
		*dynamodb.TransactWriteItemsOutput, error)
}

type transactReader interface {
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...Option) (*dynamodb.TransactGetItemsOutput, error)
}

var _ interface {
	DynamoDB
	API
	transactor
	transactReader
} = (*dynamodb.Client)(nil)

// TransactGet reads the items between transactions. A missing item is nil. A transaction
// that is still being committed on one of them cancels the read with ReasonConflict.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
func (s *Store) TransactGet(ctx context.Context, items []types.TransactGetItem) ([]clause.Item, error) {
	db, ok := s.db.(transactReader)
	if !ok {
		return nil, fmt.Errorf("the DynamoDB client %T has no method TransactGetItems", s.db)
	}
	request := s.begin(ctx, transactGetItems)
	defer request.cancel()
	out, err := db.TransactGetItems(request.ctx, &dynamodb.TransactGetItemsInput{TransactItems: items}, request.options...)
	if err != nil {
		var tables []string
		for _, item := range items {
			if item.Get != nil {
				tables = append(tables, aws.ToString(item.Get.TableName))
			}
		}
		return nil, onTables(request.failed(err), tables)
	}
	request.answered(out.ResultMetadata)
	read := make([]clause.Item, len(out.Responses))
	for i, r := range out.Responses {
		read[i] = r.Item
	}
	return read, nil
}

// Transact makes all of the writes, or none. Calls with the same token within ten
// minutes are one transaction: after a commit, another call succeeds and writes nothing.
// The SDK's retries are off, so Applied reports whether the writes may have
// been made. See Reasons for a cancelled transaction.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
func (s *Store) Transact(ctx context.Context, token string, items []types.TransactWriteItem) error {
	db, ok := s.db.(transactor)
	if !ok {
		return fmt.Errorf("the DynamoDB client %T has no method TransactWriteItems", s.db)
	}
	r := s.begin(ctx, transactWriteItems, once)
	defer r.cancel()
	out, err := db.TransactWriteItems(r.ctx, &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token,
		TransactItems: items}, r.options...)
	if err != nil {
		var tables []string
		for _, item := range items {
			tables = append(tables, tableOf(item))
		}
		return onTables(r.failed(err), tables)
	}
	r.answered(out.ResultMetadata)
	return nil
}

// tableOf returns the table of a write.
func tableOf(w types.TransactWriteItem) string {
	switch {
	case w.Put != nil:
		return aws.ToString(w.Put.TableName)
	case w.Update != nil:
		return aws.ToString(w.Update.TableName)
	case w.Delete != nil:
		return aws.ToString(w.Delete.TableName)
	case w.ConditionCheck != nil:
		return aws.ToString(w.ConditionCheck.TableName)
	}
	return ""
}

// Reasons returns the code of each item of a cancelled transaction, "None" for items
// that were not the cause. It is nil if err is of another kind.
func Reasons(err error) []string {
	var codes []string
	for _, r := range reasons(err) {
		codes = append(codes, cmp.Or(aws.ToString(r.Code), "None"))
	}
	return codes
}

func reasons(err error) []types.CancellationReason {
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return canceled.CancellationReasons
	}
	return nil
}

// The codes of an item whose condition was false, and of one in another transaction.
const (
	ReasonFailed   = string(types.BatchStatementErrorCodeEnumConditionalCheckFailed)
	ReasonConflict = "TransactionConflict"
)

// retryableReasons are the codes of causes that pass: other requests on the same items,
// and throttles.
var retryableReasons = []string{
	"None", ReasonConflict, "ReplicatedWriteConflict", "ProvisionedThroughputExceeded", "ThrottlingError",
}

// RetryableReasons reports whether a transaction was cancelled, and another attempt may
// succeed.
func RetryableReasons(reasons []string) bool {
	return len(reasons) > 0 && !slices.ContainsFunc(reasons, func(code string) bool {
		return !slices.Contains(retryableReasons, code)
	})
}

// Undecided reports whether a reason does not say that its item is not being committed.
func Undecided(reasons []string) bool {
	return slices.ContainsFunc(reasons, func(code string) bool {
		return code != "None" && slices.Contains(retryableReasons, code)
	})
}

// TokenMismatch reports whether a transaction was refused because another had its token.
func TokenMismatch(err error) bool {
	_, ok := errors.AsType[*types.IdempotentParameterMismatchException](err)
	return ok
}

// ReasonItem returns the item that refused the i-th write of a transaction. It is nil if
// there is none.
func ReasonItem(err error, i int) clause.Item {
	if all := reasons(err); i < len(all) {
		return all[i].Item
	}
	return nil
}
