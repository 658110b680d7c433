package faultnet

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Refusal is an error that DynamoDB itself answers with. Its code is the
// exception's name as the SDK reports it.
type Refusal struct {
	Code    string
	Message string
}

// namespaces of those exceptions which are not DynamoDB's own: they come from
// the layers in front of it.
var namespaces = map[string]string{
	"AccessDeniedException": "com.amazon.coral.service#",
	"ServiceUnavailable":    "com.amazon.coral.availability#",
	"ThrottlingException":   "com.amazon.coral.availability#",
}

const ownNamespace = "com.amazonaws.dynamodb.v20120810#"

func (r Refusal) status() int {
	switch r.Code {
	case "InternalServerError":
		return http.StatusInternalServerError
	case "ServiceUnavailable":
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// answer is the refusal as it looks to one request. A conflict with another
// transaction is told differently to a transaction: as one cancelled by its
// first action.
func (r Refusal) answer(req Request) answer {
	code, namespace := r.Code, namespaces[r.Code]
	if namespace == "" {
		namespace = ownNamespace
	}
	fields := map[string]any{}
	if actions, ok := req.Body["TransactItems"].([]any); ok && code == "TransactionConflictException" {
		code = "TransactionCanceledException"
		reasons := make([]map[string]any, len(actions))
		list := make([]string, len(actions))
		for i := range actions {
			reasons[i], list[i] = map[string]any{"Code": "None"}, "None"
		}
		if len(actions) > 0 {
			reasons[0] = map[string]any{"Code": "TransactionConflict", "Message": r.Message}
			list[0] = "TransactionConflict"
		}
		fields["CancellationReasons"] = reasons
		fields["message"] = "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(list, ", ") + "]"
	} else if code == "AccessDeniedException" {
		fields["Message"] = r.Message
	} else {
		fields["message"] = r.Message
	}
	fields["__type"] = namespace + code
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err) // strings, and maps of strings: always encodable
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}}
	a := answer{status: r.status(), header: header, body: body}
	a.stamp()
	return a
}
