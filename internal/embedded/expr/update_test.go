package expr

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

const updateItem = `{
	"n": {"N":"5"}, "k": {"N":"7"}, "s": {"S":"abc"}, "l": {"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"M":{"x":{"N":"3"}}}]},
	"m": {"M":{"x":{"N":"2"},"h.1":{"M":{"beat":{"N":"0"}}}}}, "ss": {"SS":["a","b","c"]}, "ns": {"NS":["1","2"]}
}`

func TestUpdates(t *testing.T) {
	for source, want := range map[string]string{
		"SET a = :one":                              `{"a":{"N":"1"}}`,
		"SET n = n + :one, a = n":                   `{"n":{"N":"6"},"a":{"N":"5"}}`,
		"SET n = k, k = n":                          `{"n":{"N":"7"},"k":{"N":"5"}}`,
		"SET a = n - k":                             `{"a":{"N":"-2"}}`,
		"SET a = :three - m.x":                      `{"a":{"N":"1"}}`,
		"SET a = (n + :one)":                        `{"a":{"N":"6"}}`,
		"SET a = if_not_exists(a, n), n = :one":     `{"a":{"N":"5"},"n":{"N":"1"}}`,
		"SET n = if_not_exists(n, :one)":            `{}`,
		"SET a = if_not_exists(a, :zero) + :one":    `{"a":{"N":"1"}}`,
		"SET a = list_append(:list, :list)":         `{"a":{"L":[{"N":"1"},{"N":"1"}]}}`,
		"SET a = n REMOVE n":                        `{"a":{"N":"5"},"n":null}`,
		"REMOVE n, k, q":                            `{"n":null,"k":null}`,
		"REMOVE m.x, m.q":                           `{"m":{"M":{"h.1":{"M":{"beat":{"N":"0"}}}}}}`,
		"REMOVE m.#id":                              `{"m":{"M":{"x":{"N":"2"}}}}`,
		"SET m.#id.beat = m.#id.beat + :one":        `{"m":{"M":{"x":{"N":"2"},"h.1":{"M":{"beat":{"N":"1"}}}}}}`,
		"SET m.y = :map REMOVE m.x":                 `{"m":{"M":{"y":{"M":{"x":{"N":"1"}}},"h.1":{"M":{"beat":{"N":"0"}}}}}}`,
		"REMOVE l[0], l[2], l[9]":                   `{"l":{"L":[{"N":"1"},{"M":{"x":{"N":"3"}}}]}}`,
		"SET l[1] = :s REMOVE l[0]":                 `{"l":{"L":[{"S":"abc"},{"N":"2"},{"M":{"x":{"N":"3"}}}]}}`,
		"SET l[9] = :two, l[7] = :one":              `{"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"M":{"x":{"N":"3"}}},{"N":"1"},{"N":"2"}]}}`,
		"SET l[3].x = l[2] REMOVE l[0], l[1], l[2]": `{"l":{"L":[{"M":{"x":{"N":"2"}}}]}}`,
		"ADD n :two, a :one, ss :ss":                `{"n":{"N":"7"},"a":{"N":"1"}}`,
		"ADD m.x :two, b :ns":                       `{"m":{"M":{"x":{"N":"4"},"h.1":{"M":{"beat":{"N":"0"}}}}},"b":{"NS":["1","2"]}}`,
		"DELETE ss :ss, q :ss":                      `{"ss":{"SS":["c"]}}`,
		"DELETE ns :ns":                             `{"ns":null}`,
		"set a = :one remove n add k :one":          `{"a":{"N":"1"},"n":null,"k":{"N":"8"}}`,
	} {
		old := item(t, updateItem)
		u, err := ParseUpdate(source, scope(t))
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		got, err := u.Apply(old)
		if err != nil {
			t.Errorf("%s: %v", source, err)
		}
		if wanted := patched(t, want); !got.Equal(wanted) {
			t.Errorf("%s:\n got %s\nwant %s", source, wire(t, got), wire(t, wanted))
		}
		if !old.Equal(item(t, updateItem)) {
			t.Errorf("%s changed the item it read: %s", source, wire(t, old))
		}
	}
}

// patched is updateItem with some attributes replaced, or removed by null.
func patched(t *testing.T, patch string) value.Item {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(patch), &raw); err != nil {
		t.Fatal(err)
	}
	i := item(t, updateItem)
	for name, v := range raw {
		delete(i, name)
		if string(v) != "null" {
			i[name] = item(t, `{"v":`+string(v)+`}`)["v"]
		}
	}
	return i
}

func wire(t *testing.T, i value.Item) string {
	t.Helper()
	b, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestUpdatesRefusedByItem checks that updates that do not fit the attributes of the item
// are refused.
func TestUpdatesRefusedByItem(t *testing.T) {
	for source, want := range map[string]error{
		"SET a = q": errNoAttribute, "SET a = n + q": errNoAttribute, "SET a = if_not_exists(q, z)": errNoAttribute,
		"SET a = n + s": errWrongType, "SET a = list_append(n, :list)": errWrongType, "ADD s :one": errWrongType, "ADD ss :ns": errWrongType,
		"DELETE n :ss": errWrongType, "SET q.x = :one": errInvalidPath, "SET n.x = :one": errInvalidPath, "SET m[0] = :one": errInvalidPath,
		"SET l.x = :one": errInvalidPath, "REMOVE q.x": errInvalidPath, "SET l[9].x = :one": errInvalidPath, "SET q[0] = :one": errInvalidPath,
	} {
		u, err := ParseUpdate(source, scope(t))
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := u.Apply(item(t, updateItem)); err != want {
			t.Errorf("%s: %v, %v; want %v", source, got, err, want)
		}
	}
}

// TestRefusedUpdates checks that updates that DynamoDB refuses are refused.
func TestRefusedUpdates(t *testing.T) {
	for source, want := range map[string]string{
		"": "The expression can not be empty;", "n = :one": `Syntax error; token: "n", near: "n ="`, "SET": `Syntax error; token: "<EOF>", near: "SET"`,
		"SET n = :one,":                   `Syntax error; token: "<EOF>", near: ","`,
		"SET n = n + :one + :one":         `Syntax error; token: "+", near: ":one + :one"`,
		"SET a = if_not_exists(a, n + k)": `Syntax error; token: "+", near: "n + k"`,
		"ADD n k":                         `Syntax error; token: "k", near: "n k"`,
		"SET n = :one SET k = :one":       `The "SET" section can only be used once in an update expression;`,
		"SET status = :one":               "Attribute name is a reserved keyword; reserved keyword: status",
		"SET n = :q":                      "An expression attribute value used in expression is not defined; attribute value: :q",
		"SET n = foo(:one)":               "Invalid function name; function: foo",
		"SET n = size(l)":                 "The function is not allowed in an update expression; function: size",
		"SET n = if_not_exists(:one, n)":  "Operator or function requires a document path; operator or function: if_not_exists",
		"SET n = list_append(l)":          "Incorrect number of operands for operator or function; operator or function: list_append, number of operands: 1",
		"SET n = list_append(list_append(l, :list), :list)": "The function is not allowed to be used this way in an expression; function: list_append",
		"SET n = n + :s":                 "Incorrect operand type for operator or function; operator or function: +, operand type: S",
		"ADD n :s":                       "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND",
		"DELETE n :one":                  "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND",
		"SET n = :one, n = :two":         overlap("overlap", "[n]", "[n]"),
		"SET m.x = :one REMOVE m":        overlap("overlap", "[m, x]", "[m]"),
		"SET m = :map REMOVE m.#id":      overlap("overlap", "[m]", "[m, h.1]"),
		"SET l[0].x = :one, l[0] = :one": overlap("overlap", "[l, [0], x]", "[l, [0]]"),
		"SET m[0] = :one, m.x = :one":    overlap("conflict", "[m, [0]]", "[m, x]"),
	} {
		_, err := ParseUpdate(source, scope(t))
		if err == nil || err.Error() != "Invalid UpdateExpression: "+want {
			t.Errorf("%s:\n got %v\nwant %s", source, err, want)
		}
	}
	long := "SET " + strings.Repeat("a", MaxSize) + " = :one"
	if _, err := ParseUpdate(long, scope(t)); err == nil || !strings.Contains(err.Error(), "Expression size has exceeded") {
		t.Errorf("an expression of %d bytes: %v", len(long), err)
	}
}

func overlap(verb, one, two string) string {
	return "Two document paths " + verb + " with each other; must remove or rewrite one of these paths; path one: " + one + ", path two: " + two
}

// TestProjections checks that projections keep the shape and close the gaps.
func TestProjections(t *testing.T) {
	for source, want := range map[string]string{
		"n, q":           `{"n":{"N":"5"}}`,
		"m.x":            `{"m":{"M":{"x":{"N":"2"}}}}`,
		"m.x, m.#id":     `{"m":{"M":{"x":{"N":"2"},"h.1":{"M":{"beat":{"N":"0"}}}}}}`,
		"l[2], l[0]":     `{"l":{"L":[{"N":"0"},{"N":"2"}]}}`,
		"l[3].x, l[9]":   `{"l":{"L":[{"M":{"x":{"N":"3"}}}]}}`,
		"n.x, m.q, l[7]": `{}`,
	} {
		p, err := ParseProjection(source, scope(t))
		if err != nil {
			t.Errorf("%s: %v", source, err)
		} else if got := p.Of(item(t, updateItem)); !got.Equal(item(t, want)) {
			t.Errorf("%s is %s", source, wire(t, got))
		}
	}
}
