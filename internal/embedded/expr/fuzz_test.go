package expr

import "testing"

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
