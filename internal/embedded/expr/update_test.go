package expr

import (
	"strings"
	"testing"
)

const updateItem = `{
	"n": {"N":"5"}, "k": {"N":"7"}, "s": {"S":"abc"}, "l": {"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"M":{"x":{"N":"3"}}}]},
	"m": {"M":{"x":{"N":"2"},"h.1":{"M":{"beat":{"N":"0"}}}}}, "ss": {"SS":["a","b","c"]}, "ns": {"NS":["1","2"]}
}`

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
