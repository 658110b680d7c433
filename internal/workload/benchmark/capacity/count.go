// Package capacity counts requests and the capacity units that they consume, and has
// their price.
//
// DynamoDB reports the units of a request that asks for them. It bills a write that its
// condition refuses like one that succeeds, but does not report it. Such a write counts
// as one unit, which is right for items of up to 1 KB.
package capacity

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Count is what requests have cost.
type Count struct {
	Requests   int     `json:"requests"`
	WriteUnits float64 `json:"writeUnits"`
	ReadUnits  float64 `json:"readUnits"`
}

// Sub returns what was added to an earlier count.
func (c Count) Sub(earlier Count) Count {
	return Count{c.Requests - earlier.Requests, c.WriteUnits - earlier.WriteUnits, c.ReadUnits - earlier.ReadUnits}
}

// Add returns the sum of both.
func (c Count) Add(d Count) Count {
	return Count{c.Requests + d.Requests, c.WriteUnits + d.WriteUnits, c.ReadUnits + d.ReadUnits}
}

// Times returns n times the count.
func (c Count) Times(n int) Count {
	return Count{c.Requests * n, c.WriteUnits * float64(n), c.ReadUnits * float64(n)}
}

// Within reports whether no part of the count is greater than that of most.
func (c Count) Within(most Count) bool {
	return c.Requests <= most.Requests && c.WriteUnits <= most.WriteUnits && c.ReadUnits <= most.ReadUnits
}

// writes lists the operations that this package understands, and whether they write.
var writes = map[string]bool{
	"GetItem": false, "Query": false, "PutItem": true, "UpdateItem": true, "DeleteItem": true,
}

// Known reports whether the units of the operation are counted.
func Known(operation string) bool {
	_, known := writes[operation]
	return known
}

// OperationOf returns the operation of a request, such as "GetItem".
func OperationOf(header http.Header) string {
	_, operation, _ := strings.Cut(header.Get("X-Amz-Target"), ".")
	return operation
}

// Of returns what one request has cost, by its answer. Errors other than a refused
// condition cost nothing but the request.
func Of(operation string, status int, answer []byte) Count {
	c := Count{Requests: 1}
	write, known := writes[operation]
	if !known {
		return c
	}
	var body struct {
		Type             string `json:"__type"`
		ConsumedCapacity struct{ CapacityUnits float64 }
	}
	if err := json.Unmarshal(answer, &body); err != nil {
		return c
	}
	units := body.ConsumedCapacity.CapacityUnits
	if status != http.StatusOK && strings.HasSuffix(body.Type, "ConditionalCheckFailedException") {
		units = 1
	}
	if write {
		c.WriteUnits = units
	} else {
		c.ReadUnits = units
	}
	return c
}

func unanswered(operation string) Count {
	c := Count{Requests: 1}
	switch write, known := writes[operation]; {
	case write:
		c.WriteUnits = 1
	case known:
		c.ReadUnits = 1
	}
	return c
}
