package embedded

import (
	"github.com/queuelock/queuelock/internal/embedded/expr"
	"github.com/queuelock/queuelock/internal/embedded/value"
)

// The limits of key attributes and items, in bytes:
// docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	maxPartitionKey = 2048
	maxSortKey      = 1024
	maxItem         = 400 * 1024
)

// schemaError is a key that does not match the table's. It cancels a transaction,
// where other faults refuse the request as a whole, an empty key value included.
type schemaError struct{ error }

func (e schemaError) Unwrap() error { return e.error }

func notTheKey(format string, args ...any) error { return schemaError{invalid(format, args...)} }

// itemKey is the key of a whole item that is to be stored.
func (t *table) itemKey(item value.Item) (key, error) {
	for _, a := range t.keyAttributes() {
		v, ok := item[a.name]
		if !ok {
			return key{}, notTheKey("One or more parameter values were invalid: Missing the key %s in the item", a.name)
		}
		if v.Kind != a.kind {
			return key{}, notTheKey("One or more parameter values were invalid: Type mismatch for key %s expected: %s actual: %s", a.name, a.kind, v.Kind)
		}
	}
	k := t.keyOf(item)
	return k, t.checkKey(k)
}

// primaryKey is the key that a request names by itself: all key attributes and
// nothing else.
func (t *table) primaryKey(given value.Item) (key, error) {
	attributes := t.keyAttributes()
	if len(given) != len(attributes) {
		return key{}, errKeySchema()
	}
	for _, a := range attributes {
		if v, ok := given[a.name]; !ok || v.Kind != a.kind {
			return key{}, errKeySchema()
		}
	}
	k := t.keyOf(given)
	return k, t.checkKey(k)
}

func errKeySchema() error { return notTheKey("The provided key element does not match the schema") }

func (t *table) keyAttributes() []keyAttribute {
	if t.sort.name == "" {
		return []keyAttribute{t.partition}
	}
	return []keyAttribute{t.partition, t.sort}
}

// checkKey refuses empty and oversized key values of the right types.
func (t *table) checkKey(k key) error {
	if err := t.checkPartition(k.partition); err != nil {
		return err
	}
	if t.sort.name == "" {
		return nil
	}
	return t.checkSort(k.sort)
}

// scalarKeys refuses expressions with a path into a key attribute.
func (t *table) scalarKeys(condition expr.Condition, update *expr.Update, projection *expr.Projection) (err error) {
	check := func(path expr.Path) {
		if len(path) > 1 && t.isKey(path[0].Name) && err == nil {
			err = invalid("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: %s", path[0].Name)
		}
	}
	if update != nil {
		update.Visit(check)
	}
	if condition != nil {
		expr.VisitCondition(condition, check)
	}
	if projection != nil {
		projection.Visit(check)
	}
	return err
}

func (t *table) checkPartition(v value.Value) error {
	if v.Size() > maxPartitionKey {
		return notTheKey("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of%d bytes", maxPartitionKey)
	}
	return checkKeyValue(t.partition.name, v)
}

func (t *table) checkSort(v value.Value) error {
	if v.Size() > maxSortKey {
		return notTheKey("One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of %d bytes", maxSortKey)
	}
	return checkKeyValue(t.sort.name, v)
}

func checkKeyValue(name string, v value.Value) error {
	if v.Kind != value.Num && v.Text == "" {
		kind := "string"
		if v.Kind == value.Binary {
			kind = "binary"
		}
		return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", kind, name)
	}
	return nil
}
