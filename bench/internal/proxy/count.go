package proxy

import (
	"regexp"
	"strings"

	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
)

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
	rest, isObject := strings.CutPrefix(string(body), "{")
	if !capacity.Known(operation) || !isObject || strings.Contains(rest, `"ReturnConsumedCapacity"`) {
		return body
	}
	if strings.TrimSpace(rest) != "}" {
		rest = "," + rest
	}
	return []byte(`{"ReturnConsumedCapacity":"TOTAL"` + rest)
}
