package faultnet

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/queuelock/queuelock/internal/embedded/value"
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
	asked := r.Body["ReturnConsumedCapacity"]
	switch counted := slices.Contains(readers, r.Operation) || slices.Contains(writers, r.Operation); {
	case !counted || len(r.Body) == 0 || raw[0] != '{':
	case asked == nil:
		return append([]byte(`{"ReturnConsumedCapacity":"TOTAL",`), raw[1:]...), true
	case asked == "NONE":
		body := maps.Clone(r.Body)
		body["ReturnConsumedCapacity"] = "TOTAL"
		raw, err := json.Marshal(body)
		return raw, err == nil // it was decoded from JSON
	}
	return raw, false // another value is the engine's to refuse
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
	// A field of the outermost object, as compact encoders write it: the quotes
	// of a name cannot occur inside a string, and no attribute has such a value.
	before, after, found := bytes.Cut(a.body, append([]byte(`"ConsumedCapacity":`), fields.ConsumedCapacity...))
	if strip && found {
		after, more := bytes.CutPrefix(after, []byte(","))
		if !more {
			before = bytes.TrimSuffix(before, []byte(","))
		}
		a.body = slices.Concat(before, after)
		a.stamp()
	}
	return a, tally
}

// unitsOf adds up one ConsumedCapacity, or the list of them that batches and
// transactions return, one for each table.
func unitsOf(raw json.RawMessage) (sum float64) {
	if raw[0] == '{' {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	var all []struct{ CapacityUnits float64 }
	_ = json.Unmarshal(raw, &all) // what is no capacity counts nothing
	for _, c := range all {
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
	var reply struct{ Item value.Item }
	_ = json.Unmarshal(body, &reply)
	return kilobytes(max(reply.Item.Size(), sizeOf(r.Body["Item"])))
}

// cancelledWriteUnits is an upper estimate for a transaction whose condition
// failed: as if it had committed, two units for each KB of each item.
func cancelledWriteUnits(r Request) (sum float64) {
	for _, item := range r.Items() {
		sum += 2 * kilobytes(sizeOf(item))
	}
	return sum
}

func kilobytes(size int) float64 { return float64(max(1, (size+1023)/1024)) }

// sizeOf is the size that DynamoDB charges for an item, as JSON decodes it.
func sizeOf(item any) int {
	var decoded value.Item
	if text, err := json.Marshal(item); err != nil || json.Unmarshal(text, &decoded) != nil {
		return 0
	}
	return decoded.Size()
}

// Tally counts the requests of one operation.
type Tally struct {
	Sent             int     // attempts of clients, whatever became of them
	Applied          int     // requests the engine processed, copies and failed conditions included
	FailedConditions int     // of these, those whose condition did not hold
	ReadUnits        float64 // consumed read capacity
	WriteUnits       float64 // consumed write capacity, that of failed conditions included
}

// Add returns the sum of two tallies.
func (t Tally) Add(o Tally) Tally {
	return Tally{
		Sent:             t.Sent + o.Sent,
		Applied:          t.Applied + o.Applied,
		FailedConditions: t.FailedConditions + o.FailedConditions,
		ReadUnits:        t.ReadUnits + o.ReadUnits,
		WriteUnits:       t.WriteUnits + o.WriteUnits,
	}
}
