package proxy

import (
	"encoding/json"
	"regexp"
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

func (c Count) add(d Count) Count {
	return Count{c.Requests + d.Requests, c.WriteUnits + d.WriteUnits, c.ReadUnits + d.ReadUnits}
}

// writes lists the operations that this package understands, and whether they write.
var writes = map[string]bool{
	"GetItem": false, "Query": false, "PutItem": true, "UpdateItem": true, "DeleteItem": true,
}

var tableName = regexp.MustCompile(`"TableName"\s*:\s*"([^"]*)"`)

// tableOf returns the first table that a request names.
func tableOf(body []byte) string {
	if found := tableName.FindSubmatch(body); found != nil {
		return string(found[1])
	}
	return ""
}

// metered returns the request with a wish for its consumed capacity.
func metered(operation string, body []byte) []byte {
	_, known := writes[operation]
	rest, isObject := strings.CutPrefix(string(body), "{")
	if !known || !isObject || strings.Contains(rest, `"ReturnConsumedCapacity"`) {
		return body
	}
	if strings.TrimSpace(rest) != "}" {
		rest = "," + rest
	}
	return []byte(`{"ReturnConsumedCapacity":"TOTAL"` + rest)
}

// cost returns what a request has cost, by its answer. DynamoDB bills a write that its
// condition refuses like one that succeeds, but the answer does not say how much: it
// counts as one unit, which is right for items of up to 1 KB. Other errors cost nothing.
func cost(operation string, status int, answer []byte) Count {
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
	if status != 200 && strings.HasSuffix(body.Type, "ConditionalCheckFailedException") {
		units = 1
	}
	if write {
		c.WriteUnits = units
	} else {
		c.ReadUnits = units
	}
	return c
}
