package expr

import (
	"slices"
	"strings"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// Scope holds what the placeholders of one request stand for, and notes which
// of them its expressions used.
type Scope struct {
	names      map[string]string
	values     map[string]value.Value
	usedNames  map[string]bool
	usedValues map[string]bool
}

// NewScope takes the request's ExpressionAttributeNames and -Values; nil means
// that the request has none, which is not the same as an empty map.
func NewScope(names map[string]string, values map[string]value.Value) (*Scope, error) {
	if names != nil && len(names) == 0 {
		return nil, Error("ExpressionAttributeNames must not be empty")
	}
	if values != nil && len(values) == 0 {
		return nil, Error("ExpressionAttributeValues must not be empty")
	}
	for _, key := range sortedKeys(names) {
		if !isPlaceholder(key, '#') {
			return nil, Error(`ExpressionAttributeNames contains invalid key: Syntax error; key: "` + key + `"`)
		}
		if names[key] == "" {
			return nil, Error("ExpressionAttributeNames contains invalid value: Empty attribute name; key: " + key)
		}
	}
	for _, key := range sortedKeys(values) {
		if !isPlaceholder(key, ':') {
			return nil, Error(`ExpressionAttributeValues contains invalid key: Syntax error; key: "` + key + `"`)
		}
	}
	return &Scope{names, values, map[string]bool{}, map[string]bool{}}, nil
}

func isPlaceholder(key string, mark byte) bool {
	return len(key) > 1 && key[0] == mark && wordLength(key[1:]) == len(key)-1
}

// Unused refuses placeholders that no expression of the request used.
func (s *Scope) Unused() error {
	if keys := unused(s.names, s.usedNames); keys != "" {
		return Error("Value provided in ExpressionAttributeNames unused in expressions: keys: " + keys)
	}
	if keys := unused(s.values, s.usedValues); keys != "" {
		return Error("Value provided in ExpressionAttributeValues unused in expressions: keys: " + keys)
	}
	return nil
}

func unused[V any](given map[string]V, used map[string]bool) string {
	var keys []string
	for _, key := range sortedKeys(given) {
		if !used[key] {
			keys = append(keys, key)
		}
	}
	if keys == nil {
		return ""
	}
	return "{" + strings.Join(keys, ", ") + "}"
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
