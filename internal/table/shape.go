package table

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/planted"
)

// Expressions are those of one request, with their names and values.
type Expressions struct {
	update, condition *string // nil: none
	names             map[string]string
	values            map[string]types.AttributeValue
	// that they express, and its attributes; of one that is joined with another's, Repeat only
	write      clause.Write
	attributes clause.Names
	err        error // of building them; the request returns it
}

// Build builds the expressions of one request.
func Build(b expression.Builder) Expressions {
	e, err := b.Build()
	if err != nil {
		return Expressions{err: NotApplied(err)}
	}
	return Expressions{update: e.Update(), condition: e.Condition(), names: e.Names(), values: e.Values()}
}

// maxTemplates bounds what a Store remembers, should the names of attributes or the number of ids in a write vary much.
const maxTemplates = 1000

// templates are the expressions of writes by their shape: those of a shape are built once, and each write fills in its
// ids and values.
type templates struct {
	mu      sync.RWMutex
	by      map[string]*template
	buffers sync.Pool // of *[]byte, for shapes
}

func newTemplates() *templates {
	return &templates{by: map[string]*template{}, buffers: sync.Pool{New: func() any { return new([]byte) }}}
}

// template has dummies in the places of ids and values.
type template struct {
	Expressions
	ids    map[string]int // placeholders of names, and the index of the id of each
	values map[string]int // placeholders of values
}

// Express returns the expressions of a write.
func (s *Store) Express(w clause.Write, n clause.Names) Expressions {
	is := w
	w = planted.In(w)
	if w.Kind != clause.Update && len(w.If) == 0 { // the builder knows no request without an expression
		return Expressions{write: w}
	}
	buffer := s.templates.buffers.Get().(*[]byte)
	defer s.templates.buffers.Put(buffer)
	key, ids, values := w.Shape((*buffer)[:0], n)
	*buffer = key
	if slices.Contains(ids, "") { // of an item that another program wrote
		return Expressions{err: NotApplied(errors.New("an id in the item is empty"))}
	}
	s.templates.mu.RLock()
	t := s.templates.by[string(key)]
	s.templates.mu.RUnlock()
	if t == nil {
		if t = newTemplate(w, n, len(values)); t.err != nil {
			return t.Expressions
		}
		s.templates.mu.Lock()
		if len(s.templates.by) < maxTemplates {
			s.templates.by[string(key)] = t
		}
		s.templates.mu.Unlock()
	}
	e := t.fill(ids, values)
	e.write, e.attributes = is, n
	return e
}

// dummy begins the dummies of ids. No attribute of the library has such a name.
const dummy = "\x00"

func newTemplate(w clause.Write, n clause.Names, values int) *template {
	dummies := make([]types.AttributeValue, values)
	for i := range dummies {
		dummies[i] = clause.String(strconv.Itoa(i))
	}
	t := &template{ids: map[string]int{}, values: map[string]int{}}
	name := func(i int) string { return dummy + strconv.Itoa(i) }
	t.Expressions = Build(w.Template(n, name, func(i int) types.AttributeValue { return dummies[i] }))
	for placeholder, name := range t.names {
		if name[:1] == dummy {
			t.ids[placeholder], _ = strconv.Atoi(name[1:])
		}
	}
	for placeholder, value := range t.Expressions.values {
		if i := slices.Index(dummies, value); i >= 0 { // the pointers are compared
			t.values[placeholder] = i
		}
	}
	return t
}

func (t *template) fill(ids []string, values []types.AttributeValue) Expressions {
	e := t.Expressions
	if len(t.ids) > 0 {
		e.names = maps.Clone(e.names)
		for placeholder, i := range t.ids {
			e.names[placeholder] = ids[i]
		}
	}
	if len(t.values) > 0 {
		e.values = maps.Clone(e.values)
		for placeholder, i := range t.values {
			e.values[placeholder] = values[i]
		}
	}
	return e
}

// Check returns a write without changes as a part of a transaction.
func (s *Store) Check(key clause.Item, w clause.Write, n clause.Names) (types.ConditionCheck, error) {
	e, table := s.Express(w, n), s.layout.Table
	return types.ConditionCheck{
		TableName: &table, Key: key, ConditionExpression: e.condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	}, e.err
}

// InTransaction returns an update as a part of a transaction. If it is refused, the reason contains the item.
func (s *Store) InTransaction(key clause.Item, w clause.Write, n clause.Names) (types.Update, error) {
	e, table := s.Express(w, n), s.layout.Table
	return types.Update{
		TableName: &table, Key: key, UpdateExpression: e.update, ConditionExpression: e.condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, e.err
}
