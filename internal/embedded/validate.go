package embedded

import (
	"slices"
	"strings"
)

// constraint is the refusal of one request parameter, in the form of the
// service's model validation; field is its name from a lower-case letter on.
func constraint(given, field, rule string) error {
	return invalid("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: %s", given, field, rule)
}

// absent is the refusal of a request that lacks a parameter.
func absent(field string) error {
	return invalid("1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", field)
}

// together merges refusals by constraint and oneOf, as the service reports them.
func together(refusals ...error) error {
	var rules []string
	for _, err := range refusals {
		if err != nil {
			_, rule, _ := strings.Cut(asFailure(err).message, "detected: ")
			rules = append(rules, rule)
		}
	}
	switch len(rules) {
	case 0:
		return nil
	case 1:
		return invalid("1 validation error detected: %s", rules[0])
	}
	return invalid("%d validation errors detected: %s", len(rules), strings.Join(rules, "; "))
}

// oneOf refuses a parameter with a value it cannot have. Empty is always fine:
// the parameter is not there.
func oneOf(given, field string, allowed ...string) error {
	if given == "" || slices.Contains(allowed, given) {
		return nil
	}
	return constraint(given, field, "Member must satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
}

// tableName is the name in a TableName parameter, which may be an ARN.
func tableName(given string) (string, error) {
	name := given
	if strings.HasPrefix(given, "arn:") {
		_, name, _ = strings.Cut(given, ":table/")
	}
	if given == "" {
		return "", absent("tableName")
	}
	if len(name) > 255 {
		return "", constraint(given, "tableName", "Member must have length less than or equal to 255")
	}
	for _, c := range []byte(name) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-", c) >= 0) {
			return "", constraint(given, "tableName", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
		}
	}
	return name, nil
}

// legacy are the parameters that expressions have replaced. Silently ignoring
// one would turn a conditional write into an unconditional one.
type legacy struct {
	AttributesToGet     any
	AttributeUpdates    any
	ConditionalOperator any
	Expected            any
	KeyConditions       any
	QueryFilter         any
	ScanFilter          any
}

func (l *legacy) refuse() error {
	for _, p := range []struct {
		name  string
		given any
	}{
		{"AttributesToGet", l.AttributesToGet}, {"AttributeUpdates", l.AttributeUpdates},
		{"ConditionalOperator", l.ConditionalOperator}, {"Expected", l.Expected},
		{"KeyConditions", l.KeyConditions}, {"QueryFilter", l.QueryFilter}, {"ScanFilter", l.ScanFilter},
	} {
		if p.given != nil {
			return invalid(notSupported+"the legacy parameter %s; use an expression", p.name)
		}
	}
	return nil
}
