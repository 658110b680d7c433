package expr

import "testing"

// TestRefusedConditions checks that conditions that DynamoDB refuses are refused. The
// refusals and which of several comes first were compared with AWS's DynamoDB Local.
func TestRefusedConditions(t *testing.T) {
	for source, want := range map[string]string{
		"":                        "The expression can not be empty;",
		"n":                       `Syntax error; token: "<EOF>", near: "n"`,
		"n = :one OR":             `Syntax error; token: "<EOF>", near: "OR"`,
		"n == :one":               `Syntax error; token: "=", near: "== :one"`,
		"n IN :one":               `Syntax error; token: ":one", near: "IN :one"`,
		"a[x] = n":                `Syntax error; token: "x", near: "[x]"`,
		"n $ s":                   `Syntax error; token: "$", near: "n $ s"`,
		"_n = :one":               `Syntax error; token: "_", near: "_n"`,
		"n = :one)":               `Syntax error; token: ")", near: ":one)"`,
		"attribute_exists(n":      `Syntax error; token: "<EOF>", near: "n"`,
		"status = :one":           "Attribute name is a reserved keyword; reserved keyword: status",
		"n.Owner = :one":          "Attribute name is a reserved keyword; reserved keyword: Owner",
		"#q = :one":               "An expression attribute name used in the document path is not defined; attribute name: #q",
		"n = :q":                  "An expression attribute value used in expression is not defined; attribute value: :q",
		"((n = :one))":            "The expression has redundant parentheses;",
		"((n)) = :one":            "The expression has redundant parentheses;",
		"foo(n)":                  "Invalid function name; function: foo",
		"n = foo(n)":              "Invalid function name; function: foo",
		"ATTRIBUTE_EXISTS(n)":     "Invalid function name; function: ATTRIBUTE_EXISTS",
		"list_append(l, l) = :s":  "The function is not allowed in a condition expression; function: list_append",
		"contains(s, :s) <> :s":   "The function is not allowed to be used this way in an expression; function: contains",
		"foo(n) IN (:one)":        "Invalid function name; function: foo",
		"if_not_exists(n, s)":     "The function is not allowed in a condition expression; function: if_not_exists",
		"size(n)":                 "The function is not allowed to be used this way in an expression; function: size",
		"n = n":                   "The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [n]",
		"n IN (:one, n)":          "The first operand must be distinct from the remaining operands for this operator or function; operator: IN, first operand: [n]",
		"n < :t":                  "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
		"begins_with(s)":          "Incorrect number of operands for operator or function; operator or function: begins_with, number of operands: 1",
		"begins_with(s, :one)":    "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
		"begins_with(s, size(n))": "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
		"size(size(n)) = :one":    "Incorrect operand type for operator or function; operator or function: size, operand type: N",
		"attribute_exists(:one)":  "Operator or function requires a document path; operator or function: attribute_exists",
		"attribute_type(n, :Q)":   "Invalid attribute type name found; type: Q, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
		"n BETWEEN :two AND :one": "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
		"n BETWEEN :two AND :s":   "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {S:abc}",

		// Of several faults: syntax, form, names, operands.
		"((foo(status))) AND":   `Syntax error; token: "<EOF>", near: "AND"`,
		"((foo(n) AND n < :t))": "The expression has redundant parentheses;",
		"n < :t AND foo(n)":     "Invalid function name; function: foo",
	} {
		_, err := ParseCondition(ConditionExpression, source, scope(t))
		if err == nil || err.Error() != "Invalid ConditionExpression: "+want {
			t.Errorf("%s:\n got %v\nwant %s", source, err, want)
		}
	}
}
