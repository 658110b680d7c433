package expr

import (
	"encoding/json"
	"testing"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// item reads an item in wire form.
func item(t testing.TB, wire string) value.Item {
	t.Helper()
	var i value.Item
	if err := json.Unmarshal([]byte(wire), &i); err != nil {
		t.Fatalf("%s: %v", wire, err)
	}
	return i
}

var placeholderNames = map[string]string{"#a": "a", "#id": "h.1", "#status": "status", "#m": "m"}

func placeholderValues(t testing.TB) map[string]value.Value {
	return item(t, `{
		":zero": {"N":"0"}, ":one": {"N":"1"}, ":two": {"N":"2"}, ":three": {"N":"3"}, ":s": {"S":"abc"}, ":ab": {"S":"ab"},
		":bin": {"B":"YWI="}, ":t": {"BOOL":true}, ":null": {"NULL":true}, ":list": {"L":[{"N":"1"}]}, ":map": {"M":{"x":{"N":"1"}}},
		":ss": {"SS":["a","b"]}, ":ns": {"NS":["1","2"]}, ":S": {"S":"S"}, ":N": {"S":"N"}, ":Q": {"S":"Q"}, ":empty": {"M":{}}
	}`)
}

func scope(t testing.TB) *Scope {
	t.Helper()
	s, err := NewScope(placeholderNames, placeholderValues(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
