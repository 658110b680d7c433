package table

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/queue"
)

// SchemaError reports that the table cannot be used.
type SchemaError = queue.TableError

// Error is the error of a request that failed.
type Error struct {
	Operation string // as DynamoDB names it, or the protocol
	Table     string
	Timeout   time.Duration // the time-out that ended the request; zero: another cause
	Err       error

	again  bool     // see Kinds
	tables []string // of a transaction, each of which may be the cause; nil: Table
}

func (e *Error) Error() string {
	if e.Timeout > 0 {
		return fmt.Sprintf("%s on %s: no answer within %v: %s", e.Operation, e.where(), e.Timeout.Round(time.Millisecond),
			brief(e.Err))
	}
	return fmt.Sprintf("%s on %s: %s", e.Operation, e.where(), brief(e.Err))
}

// where names the tables of the request.
func (e *Error) where() string {
	const shown = 3
	switch n := len(e.tables); {
	case n == 0:
		return fmt.Sprintf("table %q", e.Table)
	case n == 1:
		return fmt.Sprintf("table %q", clip(e.tables[0]))
	case n > shown:
		return fmt.Sprintf("%d tables", n)
	}
	var names []string
	for _, name := range e.tables {
		names = append(names, strconv.Quote(clip(name)))
	}
	return "tables " + strings.Join(names, ", ")
}

// onTables notes the tables of a transaction in its error. A request that failed says of none that it was the cause.
func onTables(err error, tables []string) error {
	if e, ok := errors.AsType[*Error](err); ok {
		slices.Sort(tables)
		e.tables = slices.Compact(tables)
	}
	return err
}

// maxBrief bounds what the text of an Error shows of the SDK's, in letters.
const maxBrief = 160

// brief returns the SDK's error in one short line, or what to do where that is known.
func brief(err error) string {
	s := strings.ReplaceAll(err.Error(), "\n", "; ")
	switch limit := Limit(err); {
	case limit != "":
		return "throttled by the limit of the " + limit
	case strings.Contains(s, "Missing Region"):
		return "there is no region: set AWS_REGION, or Region of the aws.Config"
	case strings.Contains(s, "failed to refresh cached credentials") ||
		strings.Contains(s, "failed to retrieve credentials"):
		return "there are no credentials: set AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a role"
	}
	if api, answered := errors.AsType[smithy.APIError](err); answered && api.ErrorMessage() != "" {
		s = api.ErrorCode() + ": " + strings.ReplaceAll(api.ErrorMessage(), "\n", "; ")
	} else if _, cause, sent := strings.Cut(s, "RequestID: , "); sent {
		s = cause // the SDK repeats what Error has said
	}
	if letters := []rune(s); len(letters) > maxBrief {
		s = string(letters[:maxBrief-1]) + "…"
	}
	return s
}

// Unwrap returns the SDK's error, but not that of the time-out: it would match
// context.DeadlineExceeded, as if the caller's context had ended.
func (e *Error) Unwrap() error {
	if e.Timeout > 0 {
		return nil
	}
	return e.Err
}

// Refused is the error of a write with a false condition. The attempt that was answered
// wrote nothing. A retry of the SDK's may have been refused by what its own lost first
// attempt wrote, so the caller looks for its own id in the item.
type Refused struct {
	Item  clause.Item // that refused the write; nil: there is none
	Means clause.Refusal
}

func (e *Refused) Error() string { return "the condition was false" }

var (
	// errUnshown is a lasting property of the engine.
	errUnshown = errors.New("queuelock: a refused write did not return its item, which DynamoDB does since June 2023: " +
		"try queuelock doctor --deep")
	// errContradicted is transient, as the item may change, but see Retryable.
	errContradicted = errors.New("the write was refused by an item that meets all of its conditions")
)

// explain returns the error of a write, and of a refusal what it means. A refusal that nothing explains is an error,
// never a reason to decide again.
func (s *Store) explain(e Expressions, err error) error {
	refused, ok := errors.AsType[*Refused](err)
	if !ok || len(e.write.If) == 0 {
		return err
	}
	refused.Means = e.write.Refused(e.attributes, refused.Item)
	switch {
	case refused.Means != clause.Contradicted:
		return err
	case refused.Item == nil:
		return NotApplied(errUnshown)
	}
	return NotApplied(&Error{Operation: e.write.Name, Table: s.layout.Table, Err: errContradicted, again: true})
}

func (s *Store) translate(ctx, bounded context.Context, timeout time.Duration, operation string, err error) error {
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		s.answers.note(s.layout.Table, operation)
		return &Refused{Item: failed.Item}
	}
	// Any table of the caller's may be the cause of a transaction's failure.
	if operation != transactWriteItems && operation != transactGetItems {
		if schema := s.schemaProblem(ctx, err); schema != nil {
			return schema
		}
	}
	e := &Error{Operation: operation, Table: s.layout.Table, Err: err}
	e.again = s.answers.allow(kindOf(err), e.Table, operation)
	if bounded.Err() != nil && ctx.Err() == nil {
		e.Timeout = max(timeout, time.Nanosecond)
	}
	return e
}

const validationException = "ValidationException"

func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// Nests reports whether updates may have a function within a function.
func (s *Store) Nests() bool { return !s.flat.Load() }

// RefusesNesting reports whether such an update failed because of its expression, as on
// engines that do not know the form. Nests is false from then on.
func (s *Store) RefusesNesting(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok || api.ErrorCode() != validationException ||
		!strings.Contains(strings.ToLower(api.ErrorMessage()), "expression") {
		return false
	}
	s.flat.Store(true)
	return true
}

// keys are what a request needs of its table.
type keys interface {
	need() string
	check(t *types.TableDescription) bool
}

// schemaProblem is SchemaProblem for the table of the store.
func (s *Store) schemaProblem(ctx context.Context, err error) error {
	if s.home != nil {
		return SchemaProblem(ctx, s.db, s.timeout, s.home, err)
	}
	return schemaProblem(ctx, s.db, s.timeout, s.layout.Table, s.layout, err)
}

// SchemaProblem returns a SchemaError if a request for that item failed because there is no
// table, or because of other keys. DynamoDB's message does not say so, so the table is
// described, if db can: one more request.
func SchemaProblem(ctx context.Context, db any, timeout time.Duration, item *queue.Home, err error) error {
	return schemaProblem(ctx, db, timeout, item.Table, homeKeys{item}, err)
}

func schemaProblem(ctx context.Context, db any, timeout time.Duration, name string, k keys, err error) error {
	problem := &SchemaError{Table: name, Need: k.need(), Err: err}
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		problem.Found = "no such table in this account, region and endpoint"
		if _, lock := k.(Layout); lock {
			problem.Need += ": use CreateTable"
		} else {
			problem.Need += ": create it, or correct its name"
		}
		return problem
	}
	d, ok := db.(describer)
	if !ok || codeOf(err) != validationException {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, describeErr := d.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if describeErr != nil || out.Table == nil || k.check(out.Table) {
		return nil
	}
	problem.Found = keysOf(out.Table)
	return problem
}

// Transient reports whether another attempt can help, by [Kinds]. It is false for a refusal, a wrong table, and the end
// of the caller's context.
func Transient(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Timeout > 0 || e.again && !ended(e.Err))
}

// ended reports whether an error is of a context: the caller's, or that of a provider of credentials.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Retryable repeats requests that were Unanswered, without a limit of its own. So it does not repeat a write that was
// Contradicted. An error that wraps the end of a context may be of a provider of credentials, or of a client that wraps
// the SDK's. If it is the end of the caller's, a retry.Policy ends anyway.
var Retryable = retry.Policy{Retryable: func(err error) bool { return Unanswered(err) && !Contradicted(err) }}

// Contradicted reports whether a write was refused by an item that meets all of its conditions. It was not applied, and
// sending it again may have no end.
func Contradicted(err error) bool { return errors.Is(err, errContradicted) }

// Unanswered reports whether a request failed without an answer to what was asked:
// Transient, or its context ended first.
func Unanswered(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok && (Transient(err) || ended(err))
}

// Renewable reports whether DynamoDB refused the credentials of a request and may accept
// others: a provider renews them, and a new key takes a while to be known everywhere. A
// release waits for that. An acquire does not, as the credentials may never be right.
func Renewable(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && RenewableCode(codeOf(e.Err))
}

// RenewableCode is Renewable for the code of an error.
func RenewableCode(code string) bool { return slices.Contains(renewable, code) }

// Applied reports whether a write that its sender alone repeats (clause.BySender), and that
// failed with err, may have been applied, or may yet be. A refused condition proves that it was not, and so does an
// error that no repetition changes. Any other proves nothing: a transport that retries on its own may have sent the
// request before. A right that is missing was missing then, too, unless the client has had an answer to the operation,
// or the operation is of tables of which nothing is known.
func Applied(err error) bool {
	if err == nil {
		return true
	}
	if _, ok := errors.AsType[*notApplied](err); ok {
		return false
	}
	if _, ok := errors.AsType[*Refused](err); ok {
		return false
	}
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || response.HTTPStatusCode() != http.StatusBadRequest {
		return true
	}
	switch kindOf(err).Repeat {
	case Never:
		return false
	case AfterSame:
		e, ok := errors.AsType[*Error](err)
		return ok && (e.again || e.Operation == transactWriteItems)
	}
	return true
}

// notApplied is an error whose write was not applied; see Applied.
type notApplied struct{ error }

func (e *notApplied) Unwrap() error { return e.error }

// NotApplied marks the error of a write that was refused by an item that the caller did
// not expect.
func NotApplied(err error) error { return &notApplied{err} }

// dateOfAnswer returns the Date header of an answer. An answer without DynamoDB's
// request id may come from a proxy, with the date of its clock.
func dateOfAnswer(metadata middleware.Metadata) (time.Time, bool) {
	if id, ok := awsmiddleware.GetRequestIDMetadata(metadata); !ok || id == "" {
		return time.Time{}, false
	}
	return awsmiddleware.GetServerTime(metadata)
}

func dateOfError(err error) (time.Time, bool) {
	e, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || e.Response == nil || e.Response.Response == nil || e.Response.Header.Get("X-Amzn-Requestid") == "" {
		return time.Time{}, false
	}
	date, err := http.ParseTime(e.Response.Header.Get("Date"))
	return date, err == nil
}
