package table

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/queuelock/queuelock/queue"
)

// Error is a request that failed.
type Error struct {
	Operation string // DynamoDB's name of it
	Table     string
	Timeout   time.Duration // the bound, if that is what ended it
	Err       error
}

func (e *Error) Error() string {
	if e.Timeout > 0 {
		return fmt.Sprintf("%s on table %q: no answer within %v: %v", e.Operation, e.Table, e.Timeout, e.Err)
	}
	return fmt.Sprintf("%s on table %q: %v", e.Operation, e.Table, e.Err)
}

// Unwrap returns the SDK's error. That of a time-out of the call's own stays
// hidden: it matches context.DeadlineExceeded, as if the caller's context had
// ended.
func (e *Error) Unwrap() error {
	if e.Timeout > 0 {
		return nil
	}
	return e.Err
}

// SchemaError says that the table cannot be used.
type SchemaError = queue.TableError

// Need says in words what table the layout asks for.
func (l Layout) Need() string {
	return fmt.Sprintf("a table with partition key %q (S) and sort key %q (S)", l.PK, l.SK)
}

func (s *Store) translate(ctx, bounded context.Context, operation string, err error) error {
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return &Refused{Item: failed.Item}
	}
	if operation == transactWriteItems || operation == transactGetItems {
		// It may be about any table of the caller's.
		return s.problem(ctx, bounded, operation, err)
	}
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
		return &SchemaError{Table: s.layout.Table, Found: "no such table in this account, region and endpoint", Need: s.need(), Err: err}
	}
	if schema := s.schemaProblem(ctx, err); schema != nil {
		return schema
	}
	return s.problem(ctx, bounded, operation, err)
}

// problem is the error of a request that failed.
func (s *Store) problem(ctx, bounded context.Context, operation string, err error) *Error {
	e := &Error{Operation: operation, Table: s.layout.Table, Err: err}
	if bounded.Err() != nil && ctx.Err() == nil {
		e.Timeout = s.timeout
	}
	return e
}

// describer is what a client that can say more about a wrong table has.
type describer interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// schemaProblem turns DynamoDB's ValidationException into a SchemaError when
// the table's keys are not the layout's. DynamoDB's own words ("The provided
// key element does not match the schema") name neither, so the table is
// described, if the client can and may: one more request, on this path only.
func (s *Store) schemaProblem(ctx context.Context, err error) error {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok || api.ErrorCode() != "ValidationException" {
		return nil
	}
	d, ok := s.db.(describer)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	out, describeErr := d.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.layout.Table})
	if describeErr != nil || out.Table == nil {
		return nil
	}
	found, ok := s.check(out.Table)
	if ok {
		return nil
	}
	return &SchemaError{Table: s.layout.Table, Found: found, Need: s.need(), Err: err}
}

// Check says in words which keys a table has, and whether they are the
// layout's.
func (l Layout) Check(t *types.TableDescription) (found string, ok bool) {
	kinds := attributeTypes(t)
	var pk, sk string
	for _, k := range t.KeySchema {
		name := aws.ToString(k.AttributeName)
		if k.KeyType == types.KeyTypeHash {
			pk = name
		} else {
			sk = name
		}
	}
	found = fmt.Sprintf("partition key %q (%s)", pk, kinds[pk])
	if sk == "" {
		found += " and no sort key"
	} else {
		found += fmt.Sprintf(" and sort key %q (%s)", sk, kinds[sk])
	}
	ok = pk == l.PK && sk == l.SK && kinds[pk] == types.ScalarAttributeTypeS && kinds[sk] == types.ScalarAttributeTypeS
	return found, ok
}

func attributeTypes(t *types.TableDescription) map[string]types.ScalarAttributeType {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range t.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	return kinds
}

// Transient reports whether trying again can help: a time-out of the call's
// own, a broken connection, a throttle, a server's fault, a transaction that
// holds the item, a write to it in another region. Not so: a refusal, a wrong table, missing rights, and the
// caller's own cancellation.
func Transient(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	if e.Timeout > 0 {
		return true
	}
	if _, ok := errors.AsType[ratelimit.QuotaExceededError](err); ok {
		// The SDK client has run out of retries for now, after failures that
		// it would have retried.
		return true
	}
	// The SDK does not retry these two by itself.
	if _, ok := errors.AsType[*types.TransactionConflictException](err); ok {
		return true
	}
	if _, ok := errors.AsType[*types.ReplicatedWriteConflictException](err); ok {
		return true
	}
	return retryables.IsErrorRetryable(e.Err) == aws.TrueTernary
}

// Unanswered reports whether a request failed without saying anything about what
// was asked: Transient, or its context ended before the answer came.
func Unanswered(err error) bool {
	if _, ok := errors.AsType[*Error](err); !ok {
		return false
	}
	return Transient(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Renewable reports whether DynamoDB refused the credentials of a request, and
// may accept it with others: a provider renews them, and a new key takes a while
// to be known everywhere. It is for what must be given back: an acquire reports
// such an error at once, since nothing says that the credentials will ever be
// right.
func Renewable(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	api, ok := errors.AsType[smithy.APIError](e.Err)
	return ok && renewable[api.ErrorCode()]
}

// renewable are the codes for credentials that have expired, that are not known
// (yet, or any more), and for a signature that is too old for the local clock
// that dated it.
var renewable = map[string]bool{
	"ExpiredToken":                true,
	"ExpiredTokenException":       true,
	"RequestExpired":              true,
	"UnrecognizedClientException": true,
	"InvalidSignatureException":   true,
}

var retryables = retry.IsErrorRetryables(retry.DefaultRetryables)

// Applied reports whether a write that failed with err may have been made, or
// may yet be. A refused condition, and what no repetition changes, prove that it
// was not. A throttle or a conflict proves nothing: a transport that retries on
// its own may have sent the request before. once says that the SDK client was
// kept from retrying.
func Applied(err error, once bool) bool {
	if err == nil {
		return true
	}
	if IsUnread(err) {
		return true
	}
	if _, ok := errors.AsType[*Refused](err); ok {
		return false
	}
	if !once {
		return true
	}
	if _, ok := errors.AsType[*notApplied](err); ok {
		return false
	}
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return !ok || response.HTTPStatusCode() != http.StatusBadRequest || Transient(err) || Renewable(err)
}

// requestID is the header by which an answer is known to be DynamoDB's own.
const requestID = "X-Amzn-Requestid"

// dateOfAnswer is the Date header of an answer. One without DynamoDB's request
// id may be a proxy's or a gateway's, and the date of its clock.
func dateOfAnswer(metadata middleware.Metadata) (time.Time, bool) {
	if id, ok := awsmiddleware.GetRequestIDMetadata(metadata); !ok || id == "" {
		return time.Time{}, false
	}
	return awsmiddleware.GetServerTime(metadata)
}

// dateOfError is dateOfAnswer of an error's response.
func dateOfError(err error) (time.Time, bool) {
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || response.Response == nil || response.Response.Response == nil || response.Response.Header.Get(requestID) == "" {
		return time.Time{}, false
	}
	date, parseErr := http.ParseTime(response.Response.Header.Get("Date"))
	return date, parseErr == nil
}
