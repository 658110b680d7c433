package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

const transactWriteItems = "TransactWriteItems"

// transactor is what a client that can make transactions has.
type transactor interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

var _ transactor = (*dynamodb.Client)(nil)

const transactGetItems = "TransactGetItems"

// transactReader is what a client that can read in transactions has.
type transactReader interface {
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
}

var _ transactReader = (*dynamodb.Client)(nil)

// TransactGet reads the items, all at one point between transactions; one that
// is missing is nil. A transaction that is still being committed on one of them
// cancels the read with the reason TransactionConflict. One request.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
func (s *Store) TransactGet(ctx context.Context, items []types.TransactGetItem) ([]Item, error) {
	db, ok := s.db.(transactReader)
	if !ok {
		return nil, fmt.Errorf("the DynamoDB client %T has no method TransactGetItems", s.db)
	}
	out, err := send(ctx, s, transactGetItems, db.TransactGetItems, &dynamodb.TransactGetItemsInput{TransactItems: items},
		func(out *dynamodb.TransactGetItemsOutput) middleware.Metadata { return out.ResultMetadata })
	if err != nil {
		return nil, err
	}
	var read []Item
	for _, r := range out.Responses {
		read = append(read, r.Item)
	}
	return read, nil
}

// Transact makes all of the writes, or none. Calls with the same token within
// ten minutes are one transaction: a repeated call whose first was committed
// succeeds, and writes nothing.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
//
// Cancelled by one of the items, the error matches
// *types.TransactionCanceledException, which has a reason for each. One
// request: the SDK client's own retries are off, so that Applied(err, true)
// tells whether the writes may have been made.
func (s *Store) Transact(ctx context.Context, token string, items []types.TransactWriteItem) error {
	db, ok := s.db.(transactor)
	if !ok {
		return fmt.Errorf("the DynamoDB client %T has no method TransactWriteItems", s.db)
	}
	_, err := send(ctx, s, transactWriteItems, db.TransactWriteItems, &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token, TransactItems: items},
		func(out *dynamodb.TransactWriteItemsOutput) middleware.Metadata { return out.ResultMetadata }, Once())
	return err
}

// Reasons are the codes by which a transaction was cancelled, one for each
// item in order, "None" for those that stood in nothing's way; nil if err is
// of another kind.
func Reasons(err error) []string {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return nil
	}
	codes := make([]string, len(canceled.CancellationReasons))
	for i, r := range canceled.CancellationReasons {
		codes[i] = "None"
		if r.Code != nil {
			codes[i] = *r.Code
		}
	}
	return codes
}

// ReasonFailed is the code of an item whose condition was false.
const ReasonFailed = string(types.BatchStatementErrorCodeEnumConditionalCheckFailed)

// ReasonConflict is the code of an item that another transaction holds.
const ReasonConflict = "TransactionConflict"

// retryableReasons are the codes of what another attempt may not meet.
var retryableReasons = map[string]bool{
	"None":                          true,
	ReasonConflict:                  true,
	"ReplicatedWriteConflict":       true,
	"ProvisionedThroughputExceeded": true,
	"ThrottlingError":               true,
}

// RetryableReasons reports whether a transaction was cancelled only by what another
// attempt may not meet: other requests on the same items, and throttles.
func RetryableReasons(reasons []string) bool {
	for _, code := range reasons {
		if !retryableReasons[code] {
			return false
		}
	}
	return len(reasons) > 0
}

// TokenMismatch reports whether a transaction was refused because its token came
// with another one before.
func TokenMismatch(err error) bool {
	_, ok := errors.AsType[*types.IdempotentParameterMismatchException](err)
	return ok
}

// ReasonItem is the item that stood in the way of the i-th item of a
// transaction; nil if there is none, and where the engine does not say.
func ReasonItem(err error, i int) Item {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || i >= len(canceled.CancellationReasons) {
		return nil
	}
	return canceled.CancellationReasons[i].Item
}
