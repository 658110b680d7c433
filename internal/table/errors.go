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
	sdkretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/queue"
)

// Error is the error of a request that failed.
type Error struct {
	Operation string // as DynamoDB names it
	Table     string
	Timeout   time.Duration // the time-out that ended the request; zero: another cause
	Err       error
}

func (e *Error) Error() string {
	if e.Timeout > 0 {
		return fmt.Sprintf("%s on table %q: no answer within %v: %v", e.Operation, e.Table, e.Timeout, e.Err)
	}
	return fmt.Sprintf("%s on table %q: %v", e.Operation, e.Table, e.Err)
}

// Unwrap returns the SDK's error, but not that of the time-out: it would match
// context.DeadlineExceeded, as if the caller's context had ended.
func (e *Error) Unwrap() error {
	if e.Timeout > 0 {
		return nil
	}
	return e.Err
}

// SchemaError reports that the table cannot be used.
type SchemaError = queue.TableError

// Need describes the table that the layout needs.
func (l Layout) Need() string {
	return fmt.Sprintf("a table with partition key %q (S) and sort key %q (S)", l.PK, l.SK)
}

func (s *Store) translate(ctx, bounded context.Context, operation string, err error) error {
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return &Refused{Item: failed.Item}
	}
	if operation == transactWriteItems || operation == transactGetItems {
		// Any table of the caller's may be the cause.
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

func (s *Store) problem(ctx, bounded context.Context, operation string, err error) *Error {
	e := &Error{Operation: operation, Table: s.layout.Table, Err: err}
	if bounded.Err() != nil && ctx.Err() == nil {
		e.Timeout = s.timeout
	}
	return e
}

// describer is an SDK client that can describe tables.
type describer interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// schemaProblem returns a SchemaError if a ValidationException comes from keys that are
// not the layout's. DynamoDB's message names neither, so the table is described, if the
// client can: one more request.
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

// Check describes the keys of a table, and reports whether they are the layout's.
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

// Transient reports whether another attempt can help: after a time-out, a broken
// connection, a throttle, a server error, a transaction on the item, or a write to it in
// another region. It is false for a refusal, a wrong table, missing rights, and a
// cancelled context.
func Transient(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	if e.Timeout > 0 {
		return true
	}
	// The SDK client has run out of retries for now, after failures that it would have
	// retried.
	_, quota := errors.AsType[ratelimit.QuotaExceededError](err)
	// The SDK does not retry these two by itself.
	_, conflict := errors.AsType[*types.TransactionConflictException](err)
	_, replicated := errors.AsType[*types.ReplicatedWriteConflictException](err)
	return quota || conflict || replicated || retryables.IsErrorRetryable(e.Err) == aws.TrueTernary
}

// Retryable repeats requests that failed transiently, without a limit of its own.
var Retryable = retry.Policy{Retryable: Transient}

// Unanswered reports whether a request failed without an answer to what was asked:
// Transient, or its context ended first.
func Unanswered(err error) bool {
	if _, ok := errors.AsType[*Error](err); !ok {
		return false
	}
	return Transient(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Renewable reports whether DynamoDB refused the credentials of a request and may accept
// others: a provider renews them, and a new key takes a while to be known everywhere. A
// release waits for that. An acquire does not, as the credentials may never be right.
func Renewable(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	api, ok := errors.AsType[smithy.APIError](e.Err)
	return ok && renewable[api.ErrorCode()]
}

// renewable are the codes for credentials that have expired or are not known, and for a
// signature that the local clock has dated too early.
var renewable = map[string]bool{
	"ExpiredToken":                true,
	"ExpiredTokenException":       true,
	"RequestExpired":              true,
	"UnrecognizedClientException": true,
	"InvalidSignatureException":   true,
}

var retryables = sdkretry.IsErrorRetryables(sdkretry.DefaultRetryables)

// Applied reports whether a write that failed with err may have been applied, or may yet
// be. A refused condition proves that it was not, and so does an error that no repetition
// changes. A throttle or a conflict proves nothing: a transport that retries on its own
// may have sent the request before. once reports that the SDK's retries were off.
func Applied(err error, once bool) bool {
	if err == nil {
		return true
	}
	if p, ok := errors.AsType[*proven](err); ok && (once || !p.not) {
		return !p.not
	}
	if _, ok := errors.AsType[*Refused](err); ok {
		return false
	}
	if !once {
		return true
	}
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return !ok || response.HTTPStatusCode() != http.StatusBadRequest || Transient(err) || Renewable(err)
}

// dateOfAnswer returns the Date header of an answer. An answer without DynamoDB's
// request id may come from a proxy, with the date of its clock.
func dateOfAnswer(metadata middleware.Metadata) (time.Time, bool) {
	if id, ok := awsmiddleware.GetRequestIDMetadata(metadata); !ok || id == "" {
		return time.Time{}, false
	}
	return awsmiddleware.GetServerTime(metadata)
}

func dateOfError(err error) (time.Time, bool) {
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || response.Response == nil || response.Response.Response == nil || response.Response.Header.Get("X-Amzn-Requestid") == "" {
		return time.Time{}, false
	}
	date, parseErr := http.ParseTime(response.Response.Header.Get("Date"))
	return date, parseErr == nil
}
