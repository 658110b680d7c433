package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/queuelock/queuelock/internal/embedded/expr"
	"github.com/queuelock/queuelock/internal/embedded/value"
)

// Where the kinds of error live, as their __type spells it.
const (
	serviceErrors    = "com.amazonaws.dynamodb.v20120810#"
	validationErrors = "com.amazon.coral.validate#"
	protocolErrors   = "com.amazon.coral.service#"
)

// failure is an error response, with further fields of its body.
type failure struct {
	kind    string
	message string
	fields  map[string]any
}

func (f *failure) Error() string { return f.kind + ": " + f.message }

// body is what the response says. The service spells the message of the few errors
// with fields of their own, but for a failed condition, with a capital letter.
func (f *failure) body() map[string]any {
	body := map[string]any{"__type": f.kind}
	for name, v := range f.fields {
		body[name] = v
	}
	switch {
	case f.message == "":
	case f.kind == serviceErrors+"TransactionCanceledException", f.kind == serviceErrors+"IdempotentParameterMismatchException", f.kind == serviceErrors+"TransactionInProgressException":
		body["Message"] = f.message
	default:
		body["message"] = f.message
	}
	return body
}

func invalid(format string, args ...any) error {
	return &failure{kind: validationErrors + "ValidationException", message: fmt.Sprintf(format, args...)}
}

// notSupported opens the message about a feature that DynamoDB has and this
// engine lacks, so that a caller does not search its own request for the mistake.
const notSupported = "queuelock's in-memory engine does not support "

// unknownOperation names the operation. DynamoDB sends no message.
func unknownOperation(r *http.Request) error {
	what := "the operation " + strings.TrimPrefix(r.Header.Get("X-Amz-Target"), target)
	switch {
	case r.Method != http.MethodPost:
		what = "the HTTP method " + r.Method
	case r.Header.Get("X-Amz-Target") == "":
		what = "a request without an X-Amz-Target header"
	}
	return &failure{kind: protocolErrors + "UnknownOperationException", message: notSupported + what}
}

func errNotFound() error {
	return &failure{kind: serviceErrors + "ResourceNotFoundException", message: "Requested resource not found"}
}

// errInternal is the only failure with status 500.
func errInternal() *failure {
	return &failure{kind: serviceErrors + "InternalServerError", message: "Internal server error"}
}

// ongoing is the message of a conflict with a transaction.
const ongoing = "Transaction is ongoing for the item"

func errConflict() error {
	return &failure{kind: serviceErrors + "TransactionConflictException", message: ongoing}
}

// conditionFailed carries the item as it is, when the caller asked for it and
// there is one.
func conditionFailed(item value.Item) *failure {
	f := &failure{kind: serviceErrors + "ConditionalCheckFailedException", message: "The conditional request failed"}
	if item != nil {
		f.fields = map[string]any{"Item": item}
	}
	return f
}

// asFailure turns any error of the engine into the response it means.
func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	var refused expr.Error
	var wrong value.Invalid
	var syntax *json.SyntaxError
	var field *json.UnmarshalTypeError
	switch {
	case errors.As(err, &refused), errors.As(err, &wrong):
		return &failure{kind: validationErrors + "ValidationException", message: err.Error()}
	case errors.As(err, &syntax):
		return &failure{kind: protocolErrors + "SerializationException"}
	case errors.As(err, &field):
		return &failure{kind: protocolErrors + "SerializationException", message: "Unexpected value type: " + field.Field}
	}
	return &failure{kind: protocolErrors + "SerializationException", message: err.Error()}
}
