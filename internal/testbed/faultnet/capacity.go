package faultnet

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"hash/crc32"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// answer is an engine's reply, or a refusal.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// stamp sets the headers that follow from the body.
func (a *answer) stamp() {
	a.header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(a.body)), 10))
	a.header.Set("Content-Length", strconv.Itoa(len(a.body)))
}

// code names the error an answer carries, and is empty for a success.
func (a answer) code() string {
	if a.status == http.StatusOK {
		return ""
	}
	var fields struct {
		Type string `json:"__type"`
	}
	if json.Unmarshal(a.body, &fields) != nil || fields.Type == "" {
		return "HTTP " + strconv.Itoa(a.status)
	}
	return fields.Type[strings.LastIndexByte(fields.Type, '#')+1:]
}

var (
	readers = []string{"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"}
	writers = []string{"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}
)

// askCapacity makes a request ask for its consumed capacity. The second result
// says whether it was added here, so that the reply has to lose it again.
func askCapacity(r Request, raw []byte) ([]byte, bool) {
	if !slices.Contains(readers, r.Operation) && !slices.Contains(writers, r.Operation) {
		return raw, false
	}
	switch r.Body["ReturnConsumedCapacity"] {
	case "TOTAL", "INDEXES":
		return raw, false
	case nil:
		if _, named := r.Body["ReturnConsumedCapacity"]; !named && len(r.Body) > 0 && raw[0] == '{' {
			return append([]byte(`{"ReturnConsumedCapacity":"TOTAL",`), raw[1:]...), true
		}
	case "NONE":
	default:
		return raw, false // the engine's to refuse
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return raw, false
	}
	fields["ReturnConsumedCapacity"] = json.RawMessage(`"TOTAL"`)
	asked, err := json.Marshal(fields)
	if err != nil {
		return raw, false
	}
	return asked, true
}

// account reads what an answer cost, and takes the consumed capacity out of it
// where strip says that the caller did not ask for it.
func account(r Request, a answer, strip bool) (answer, Tally) {
	tally := Tally{Applied: 1}
	switch code := a.code(); code {
	case "":
	case "ConditionalCheckFailedException":
		tally.FailedConditions = 1
		tally.WriteUnits = failedWriteUnits(r, a.body)
		return a, tally
	case "TransactionCanceledException":
		if strings.Contains(string(a.body), "ConditionalCheckFailed") {
			tally.FailedConditions = 1
			tally.WriteUnits = cancelledWriteUnits(r)
		}
		return a, tally
	default:
		return a, tally
	}
	var fields struct{ ConsumedCapacity json.RawMessage }
	if json.Unmarshal(a.body, &fields) != nil || fields.ConsumedCapacity == nil {
		return a, tally
	}
	units := unitsOf(fields.ConsumedCapacity)
	if slices.Contains(readers, r.Operation) {
		tally.ReadUnits = units
	} else {
		tally.WriteUnits = units
	}
	if !strip {
		return a, tally
	}
	body, ok := without(a.body, "ConsumedCapacity", fields.ConsumedCapacity)
	if !ok {
		return a, tally
	}
	hadChecksum := a.header.Get("X-Amz-Crc32") != ""
	a.body = body
	a.stamp()
	if !hadChecksum {
		a.header.Del("X-Amz-Crc32")
	}
	return a, tally
}

// without returns a JSON object without the field of that name and value.
func without(object []byte, name string, value json.RawMessage) ([]byte, bool) {
	// A field of the outermost object, as compact encoders write it: the quotes
	// of a name cannot occur inside a string, and no attribute has such a value.
	field := append([]byte(`"`+name+`":`), value...)
	before, after, found := bytes.Cut(object, field)
	switch {
	case !found:
	case bytes.HasPrefix(after, []byte(",")):
		return append(bytes.Clone(before), after[1:]...), true
	default:
		before, _ = bytes.CutSuffix(before, []byte(","))
		return append(bytes.Clone(before), after...), true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return nil, false
	}
	delete(fields, name)
	rest, err := json.Marshal(fields)
	return rest, err == nil
}

// unitsOf adds up one ConsumedCapacity, or the list of them that batches and
// transactions return, one for each table.
func unitsOf(raw json.RawMessage) float64 {
	type consumed struct{ CapacityUnits float64 }
	var one consumed
	if json.Unmarshal(raw, &one) == nil {
		return one.CapacityUnits
	}
	var many []consumed
	if json.Unmarshal(raw, &many) != nil {
		return 0
	}
	sum := 0.0
	for _, c := range many {
		sum += c.CapacityUnits
	}
	return sum
}

// failedWriteUnits is the price of a write whose condition failed, which
// DynamoDB charges but does not report: that of the larger of the item in the
// table and the new one. See "Write operation consumption" in
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html.
// The item in the table is known only where the failure returned it; otherwise
// it is taken to be no larger than the new one, or than 1 KB.
func failedWriteUnits(r Request, body []byte) float64 {
	var reply struct{ Item map[string]any }
	size := 0
	if json.Unmarshal(body, &reply) == nil {
		size = itemSize(reply.Item)
	}
	if item, ok := r.Body["Item"].(map[string]any); ok {
		size = max(size, itemSize(item))
	}
	return kilobytes(size)
}

// cancelledWriteUnits is an upper estimate for a transaction whose condition
// failed: as if it had committed, two units for each KB of each item.
func cancelledWriteUnits(r Request) float64 {
	sum := 0.0
	for _, item := range r.Items() {
		sum += 2 * kilobytes(itemSize(item))
	}
	return sum
}

func kilobytes(size int) float64 { return float64(max(1, (size+1023)/1024)) }

// itemSize is the size DynamoDB charges for: names and values in UTF-8, two
// digits of a number in a byte, three bytes for a list or map and one for each
// member.
func itemSize(item map[string]any) int {
	size := 0
	for name, value := range item {
		size += len(name) + valueSize(value)
	}
	return size
}

func valueSize(value any) int {
	typed, _ := value.(map[string]any)
	for kind, v := range typed {
		switch v := v.(type) {
		case string:
			return scalarSize(kind, v)
		case []any:
			size := 0
			for _, member := range v {
				if kind == "L" {
					size += 1 + valueSize(member)
				} else if text, ok := member.(string); ok {
					size += scalarSize(kind[:1], text)
				}
			}
			if kind == "L" {
				size += 3
			}
			return size
		case map[string]any:
			return 3 + len(v) + itemSize(v)
		}
	}
	return 1
}

func scalarSize(kind, text string) int {
	switch kind {
	case "N":
		return (len(text)+1)/2 + 1
	case "B":
		return base64.StdEncoding.DecodedLen(len(text))
	}
	return len(text)
}
