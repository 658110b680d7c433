package fault

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Refusal is an error that DynamoDB itself answers with. Its code is the
// exception's name as the SDK reports it.
type Refusal struct {
	Code    string
	Message string
	Limit   string // of a throttle: the end of its reason, such as KeyRangeThroughputExceeded; empty: it has none
}

// namespaces of those exceptions which are not DynamoDB's own: they come from
// the layers in front of it.
var namespaces = map[string]string{
	"AccessDeniedException": "com.amazon.coral.service#",
	"ServiceUnavailable":    "com.amazon.coral.availability#",
	"ThrottlingException":   "com.amazon.coral.availability#",
}

const ownNamespace = "com.amazonaws.dynamodb.v20120810#"

// Status is the HTTP status of the answer.
func (r Refusal) Status() int {
	switch r.Code {
	case "InternalServerError":
		return http.StatusInternalServerError
	case "ServiceUnavailable":
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// Body is the answer to a request of an operation. actions is how many actions the request has if
// it is a transaction, and 0 otherwise: DynamoDB reports a conflict to a transaction
// as a cancellation by its first action.
func (r Refusal) Body(operation string, actions int) []byte {
	code, namespace := r.Code, namespaces[r.Code]
	if namespace == "" {
		namespace = ownNamespace
	}
	fields := map[string]any{}
	switch {
	case actions > 0 && code == "TransactionConflictException":
		code = "TransactionCanceledException"
		reasons, list := make([]map[string]any, actions), make([]string, actions)
		for i := range actions {
			reasons[i], list[i] = map[string]any{"Code": "None"}, "None"
		}
		reasons[0] = map[string]any{"Code": "TransactionConflict", "Message": r.Message}
		list[0] = "TransactionConflict"
		fields["CancellationReasons"] = reasons
		fields["message"] = "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(list, ", ") + "]"
	case code == "AccessDeniedException":
		fields["Message"] = r.Message
	default:
		fields["message"] = r.Message
	}
	if r.Limit != "" {
		name := "ThrottlingReasons"
		if code == "ThrottlingException" {
			name = "throttlingReasons"
		}
		fields[name] = []map[string]string{{"reason": "Table" + access(operation) + r.Limit, "resource": "arn:aws:dynamodb:local:000000000000:table/local"}}
	}
	fields["__type"] = namespace + code
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err) // strings, and maps of strings: always encodable
	}
	return body
}

// access is how an operation uses capacity, as a reason names it.
func access(operation string) string {
	if slices.Contains([]string{"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"}, operation) {
		return "Read"
	}
	return "Write"
}

// ContentType is that of DynamoDB's answers.
const ContentType = "application/x-amz-json-1.0"

// Operation is the name of the operation that a request calls, such as PutItem.
func Operation(header http.Header) string {
	_, name, _ := strings.Cut(header.Get("X-Amz-Target"), ".")
	return name
}
