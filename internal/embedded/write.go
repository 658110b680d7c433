package embedded

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/queuelock/queuelock/internal/embedded/expr"
	"github.com/queuelock/queuelock/internal/embedded/value"
)

// expressions are the parameters that all requests with expressions share.
type expressions struct {
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues placeholders
}

// placeholders are the values of a request's expressions; a refusal of one
// names it.
type placeholders map[string]value.Value

// UnmarshalJSON reads the map in the order of its keys.
func (p *placeholders) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil || raw == nil {
		return err
	}
	*p = make(placeholders, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		var v value.Value
		if err := v.UnmarshalJSON(raw[name]); err != nil {
			if wrong, ok := err.(value.Invalid); ok {
				return value.Invalid("ExpressionAttributeValues contains invalid value: " + string(wrong) + " for key " + name)
			}
			return err
		}
		(*p)[name] = v
	}
	return nil
}

// scope checks that placeholders come with an expression to use them.
func (x *expressions) scope(anyExpression bool) (*expr.Scope, error) {
	if !anyExpression {
		if x.ExpressionAttributeNames != nil {
			return nil, invalid("ExpressionAttributeNames can only be specified when using expressions")
		}
		if x.ExpressionAttributeValues != nil {
			return nil, invalid("ExpressionAttributeValues can only be specified when using expressions")
		}
	}
	return expr.NewScope(x.ExpressionAttributeNames, x.ExpressionAttributeValues)
}

// change is one write to one item, parsed and checked as far as possible
// without the item: what PutItem, UpdateItem and DeleteItem ask for, and the
// four kinds of entry in a transaction.
type change struct {
	table     *table
	key       key
	condition expr.Condition // nil: none
	put       value.Item     // the new item, if it is a put
	update    *expr.Update   // if it is an update
	delete    bool           // if it is a delete; neither: a condition check
	overhead  int            // see expr.Update.Overhead; 0 in a transaction
	returnOld bool           // the item comes with a failed condition
	fault     error          // what cancels the transaction that has it
}

// outcome is what a change amounts to; nothing is stored yet.
type outcome struct {
	before, after value.Item
	cost          float64
}

// run evaluates the change against the item as it is. The error is a *failure
// for a failed condition.
func (e *Engine) run(c change) (outcome, error) {
	before := c.table.get(c.key)
	o := outcome{before: before, after: before, cost: writeCost(before, before)}
	if c.condition != nil && !c.condition.Holds(before) {
		if !c.returnOld {
			return o, conditionFailed(nil)
		}
		return o, conditionFailed(before)
	}
	switch {
	case c.put != nil:
		o.after = c.put
	case c.delete:
		o.after = nil
	case c.update != nil && before == nil && c.update.OnlyRemoves():
		// Nothing to remove: even a path that leads nowhere is accepted.
	case c.update != nil:
		after, err := c.update.Apply(c.whole(before))
		if err != nil {
			return o, err
		}
		if size := after.Size(); max(size, size-c.table.keyItem(c.key).Size()+c.overhead) > maxItem {
			return o, invalid("Item size to update has exceeded the maximum allowed size")
		}
		if after.Depth() >= value.MaxNesting {
			return o, invalid("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")
		}
		o.after = after
	}
	o.cost = writeCost(o.before, o.after)
	return o, nil
}

// whole is the item that an update reads: one that does not exist has its key.
func (c change) whole(item value.Item) value.Item {
	if item == nil {
		return c.table.keyItem(c.key)
	}
	return item
}

// changeRequest is everything that the writes share. Key and Item are never
// both used.
type changeRequest struct {
	TableName           string
	Key                 value.Item
	Item                value.Item
	ConditionExpression *string
	UpdateExpression    *string
	expressions
	ReturnValuesOnConditionCheckFailure string
}

// prepare parses the expressions and finds the table and key of a change.
func (e *Engine) prepare(req *changeRequest) (change, error) {
	c := change{returnOld: req.ReturnValuesOnConditionCheckFailure == "ALL_OLD"}
	if err := oneOf(req.ReturnValuesOnConditionCheckFailure, "returnValuesOnConditionCheckFailure", "ALL_OLD", "NONE"); err != nil {
		return c, err
	}
	scope, err := req.scope(req.ConditionExpression != nil || req.UpdateExpression != nil)
	if err != nil {
		return c, err
	}
	if req.UpdateExpression != nil {
		if c.update, err = expr.ParseUpdate(*req.UpdateExpression, scope); err != nil {
			return c, err
		}
	}
	if req.ConditionExpression != nil {
		if c.condition, err = expr.ParseCondition(expr.ConditionExpression, *req.ConditionExpression, scope); err != nil {
			return c, err
		}
	}
	if err := scope.Unused(); err != nil {
		return c, err
	}
	if c.table, err = e.table(req.TableName); err != nil {
		return c, err
	}
	return c, c.table.scalarKeys(c.condition, c.update, nil)
}

// preparePut is prepare for a whole item.
func (e *Engine) preparePut(req *changeRequest) (change, error) {
	if req.Item == nil {
		return change{}, absent("item")
	}
	if err := checkItem(req.Item); err != nil {
		return change{}, err
	}
	c, err := e.prepare(req)
	if err != nil {
		return c, err
	}
	c.put = req.Item
	c.key, err = c.table.itemKey(req.Item)
	return c, err
}

// prepareKeyed is prepare for a change that names a key.
func (e *Engine) prepareKeyed(req *changeRequest) (change, error) {
	if req.Key == nil {
		return change{}, absent("key")
	}
	c, err := e.prepare(req)
	if err != nil {
		return c, err
	}
	if c.key, err = c.table.primaryKey(req.Key); err != nil {
		return c, err
	}
	if c.update != nil {
		for _, path := range c.update.Paths() {
			if c.table.isKey(path[0].Name) {
				return c, notTheKey("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", path[0].Name)
			}
		}
	}
	return c, nil
}

// checkItem refuses an item that no table can hold.
func checkItem(item value.Item) error {
	for name := range item {
		if err := value.CheckName(name); err != nil {
			return err
		}
	}
	if item.Size() > maxItem {
		return invalid("Item size has exceeded the maximum allowed size")
	}
	return nil
}
