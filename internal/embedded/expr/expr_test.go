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

// FuzzParse: no expression makes a parser panic, and what it accepts can be
// evaluated.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"attribute_exists(m.#id) AND size(m) = :one AND (n = k OR n = :two)", "NOT n BETWEEN :one AND :two", "n IN (:one, :two)",
		"SET n = if_not_exists(n, :zero) + :one, m.#id = :map REMOVE l[0], l[2] ADD ns :ns DELETE ss :ss", "n, m.x, l[0].y",
		"((n = :one))", "pk = :s AND sk BETWEEN :ab AND :s", "SET", "n[", "#", ":", "é", "n = = :one", "size(", "a[99999999999999999999]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		of := item(t, updateItem)
		for _, kind := range []string{ConditionExpression, FilterExpression, KeyConditionExpression} {
			if c, err := ParseCondition(kind, source, scope(t)); err == nil {
				c.Holds(of)
				c.Holds(nil)
				VisitCondition(c, func(Path) {})
				_, _ = KeyRangeOf(c, "pk", "sk")
			}
		}
		if u, err := ParseUpdate(source, scope(t)); err == nil {
			_, _ = u.Apply(of)
			_, _ = u.Apply(nil)
			u.Touched(of)
		}
		if p, err := ParseProjection(source, scope(t)); err == nil {
			p.Of(of)
		}
	})
}
