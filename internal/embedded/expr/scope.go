package expr

import (
	"slices"
	"strconv"
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
	total := 0
	for _, key := range sortedKeys(names) {
		if err := checkPlaceholder("ExpressionAttributeNames", key, '#'); err != nil {
			return nil, err
		}
		if err := value.CheckName(names[key]); err != nil {
			return nil, Error("ExpressionAttributeNames contains invalid value: " + err.Error() + "; key: " + key)
		}
		total += len(key) + len(names[key])
	}
	if total > maxSubstitutions {
		return nil, Error("ExpressionAttributeNames exceeds max size")
	}
	for _, key := range sortedKeys(values) {
		if err := checkPlaceholder("ExpressionAttributeValues", key, ':'); err != nil {
			return nil, err
		}
		total += len(key) + values[key].Size()
	}
	if total > maxSubstitutions {
		return nil, Error("ExpressionAttributeValues exceeds max size")
	}
	return &Scope{names, values, map[string]bool{}, map[string]bool{}}, nil
}

func checkPlaceholder(parameter, key string, mark byte) error {
	switch {
	case len(key) < 2 || key[0] != mark || wordLength(key[1:]) < len(key)-1:
		return Error(parameter + ` contains invalid key: Syntax error; key: "` + key + `"`)
	case len(key) > maxPlaceholder:
		return Error(parameter + " contains invalid key: The expression attribute map contains a key that is too long; size of key: " + strconv.Itoa(len(key)))
	}
	return nil
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
