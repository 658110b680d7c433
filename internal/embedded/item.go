package embedded

import (
	"github.com/queuelock/queuelock/internal/embedded/expr"
	"github.com/queuelock/queuelock/internal/embedded/value"
)

type writeRequest struct {
	changeRequest
	legacy
	ReturnValues                string
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

// check refuses parameters that a write never takes.
func (req *writeRequest) check() error {
	if _, err := tableName(req.TableName); err != nil {
		return err
	}
	if err := req.refuse(); err != nil {
		return err
	}
	return together(
		checkCapacityMode(req.ReturnConsumedCapacity),
		oneOf(req.ReturnItemCollectionMetrics, "returnItemCollectionMetrics", "SIZE", "NONE"),
		oneOf(req.ReturnValues, "returnValues", "ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"),
	)
}

// onlyOld refuses the return values that only UpdateItem knows.
func (req *writeRequest) onlyOld() error {
	switch req.ReturnValues {
	case "", "NONE", "ALL_OLD":
		return nil
	}
	return invalid("ReturnValues can only be ALL_OLD or NONE")
}

func (e *Engine) putItem(req *writeRequest) (any, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	if err := req.onlyOld(); err != nil {
		return nil, err
	}
	req.UpdateExpression = nil
	c, err := e.preparePut(&req.changeRequest)
	return e.write(req, c, err)
}

func (e *Engine) deleteItem(req *writeRequest) (any, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	if err := req.onlyOld(); err != nil {
		return nil, err
	}
	req.UpdateExpression = nil
	c, err := e.prepareKeyed(&req.changeRequest)
	c.delete = true
	return e.write(req, c, err)
}

// updateItem without an expression creates an item of its key alone, or changes
// nothing.
func (e *Engine) updateItem(req *writeRequest) (any, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	c, err := e.prepareKeyed(&req.changeRequest)
	if c.update == nil {
		c.update = &expr.Update{}
	}
	c.overhead = c.update.Overhead()
	return e.write(req, c, err)
}

// write stores the outcome of a change and answers the request.
func (e *Engine) write(req *writeRequest, c change, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if e.locked[c.id()] {
		return nil, errConflict()
	}
	o, err := e.run(c)
	if err != nil {
		return nil, err
	}
	e.store(c, o.after)
	out := map[string]any{}
	var attributes value.Item
	switch req.ReturnValues {
	case "ALL_OLD":
		attributes = o.before
	case "ALL_NEW":
		attributes = o.after
	case "UPDATED_OLD":
		attributes = c.update.Touched(o.before)
	case "UPDATED_NEW":
		attributes = c.update.Touched(o.after)
	}
	if len(attributes) > 0 {
		out["Attributes"] = attributes
	}
	if cost := consumed(req.ReturnConsumedCapacity, c.table.name, o.cost); cost != nil {
		out["ConsumedCapacity"] = cost
	}
	return out, nil
}

// projected is a request's projection expression, if it has one.
type projected struct {
	ProjectionExpression     *string
	ExpressionAttributeNames map[string]string
}

// parse is the projection, nil for whole items.
func (p *projected) parse() (*expr.Projection, error) {
	x := expressions{ExpressionAttributeNames: p.ExpressionAttributeNames}
	scope, err := x.scope(p.ProjectionExpression != nil)
	if err != nil || p.ProjectionExpression == nil {
		return nil, err
	}
	projection, err := expr.ParseProjection(*p.ProjectionExpression, scope)
	if err != nil {
		return nil, err
	}
	return projection, scope.Unused()
}

// show is the item, or the part of it that the projection names.
func show(item value.Item, projection *expr.Projection) value.Item {
	if item == nil || projection == nil {
		return item
	}
	return projection.Of(item)
}

type getItemRequest struct {
	TableName      string
	Key            value.Item
	ConsistentRead bool
	projected
	legacy
	ReturnConsumedCapacity string
}

func (e *Engine) getItem(req *getItemRequest) (any, error) {
	if err := req.refuse(); err != nil {
		return nil, err
	}
	if err := checkCapacityMode(req.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	if req.Key == nil {
		return nil, absent("key")
	}
	projection, err := req.parse()
	if err != nil {
		return nil, err
	}
	t, err := e.table(req.TableName)
	if err != nil {
		return nil, err
	}
	if err := t.scalarKeys(nil, nil, projection); err != nil {
		return nil, err
	}
	k, err := t.primaryKey(req.Key)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	item := t.get(k)
	if item != nil {
		out["Item"] = show(item, projection)
	}
	if cost := consumed(req.ReturnConsumedCapacity, t.name, readCost(item.Size(), req.ConsistentRead)); cost != nil {
		out["ConsumedCapacity"] = cost
	}
	return out, nil
}
