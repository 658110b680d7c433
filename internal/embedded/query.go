package embedded

import (
	"fmt"

	"github.com/queuelock/queuelock/internal/embedded/expr"
	"github.com/queuelock/queuelock/internal/embedded/value"
)

// pageBytes is the most that one page of a Query or Scan reads.
const pageBytes = 1 << 20

// readRequest is what Query and Scan share.
type readRequest struct {
	TableName        string
	IndexName        *string
	ConsistentRead   bool
	FilterExpression *string
	Limit            *int
	expressions
	legacy
	ExclusiveStartKey      value.Item
	ProjectionExpression   *string
	Select                 string
	ReturnConsumedCapacity string
}

// page collects what a Query or Scan reads, until its limits.
type page struct {
	table      *table
	filter     expr.Condition
	projection *expr.Projection
	countOnly  bool
	limit      int // 0: none

	items   []value.Item
	count   int
	scanned int
	bytes   int
	last    value.Item // the last item read
	more    bool       // a limit was reached
}

// read takes in the next item and reports whether there is room for another.
// An item that would pass the byte limit is left to the next page. As in
// DynamoDB, a full page has a LastEvaluatedKey even if nothing follows it.
func (p *page) read(item value.Item) bool {
	size := item.Size()
	if p.bytes+size > pageBytes {
		p.more = true
		return false
	}
	p.bytes += size
	p.scanned++
	p.last = item
	if p.filter == nil || p.filter.Holds(item) {
		p.count++
		if !p.countOnly {
			p.items = append(p.items, show(item, p.projection))
		}
	}
	p.more = p.scanned == p.limit
	return !p.more
}

func (p *page) answer(req *readRequest) any {
	out := map[string]any{"Count": p.count, "ScannedCount": p.scanned}
	if !p.countOnly {
		out["Items"] = p.items
		if p.items == nil {
			out["Items"] = []value.Item{}
		}
	}
	if p.more {
		out["LastEvaluatedKey"] = p.table.keyItem(p.table.keyOf(p.last))
	}
	if cost := consumed(req.ReturnConsumedCapacity, p.table.name, readCost(p.bytes, req.ConsistentRead)); cost != nil {
		out["ConsumedCapacity"] = cost
	}
	return out
}

// check refuses parameters that a read never takes.
func (req *readRequest) check() error {
	if err := req.refuse(); err != nil {
		return err
	}
	if err := together(
		checkCapacityMode(req.ReturnConsumedCapacity),
		oneOf(req.Select, "select", "SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"),
	); err != nil {
		return err
	}
	if req.Limit != nil && *req.Limit < 1 {
		return constraint(fmt.Sprint(*req.Limit), "limit", "Member must have value greater than or equal to 1")
	}
	switch {
	case req.Select == "ALL_PROJECTED_ATTRIBUTES" && req.IndexName == nil:
		return invalid("One or more parameter values were invalid: Select type ALL_PROJECTED_ATTRIBUTES is not supported when not querying an index")
	case req.Select == "SPECIFIC_ATTRIBUTES" && req.ProjectionExpression == nil:
		return invalid("One or more parameter values were invalid: Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	case req.ProjectionExpression != nil && req.Select != "" && req.Select != "SPECIFIC_ATTRIBUTES":
		what := req.Select
		if what == "COUNT" {
			what = "only the Count"
		}
		return invalid("Cannot specify the ProjectionExpression when choosing to get %s", what)
	}
	return nil
}

// open parses what Query and Scan share, with the scope of all expressions.
func (req *readRequest) open(scope *expr.Scope) (*page, error) {
	p := &page{countOnly: req.Select == "COUNT"}
	if req.Limit != nil {
		p.limit = *req.Limit
	}
	var err error
	if req.FilterExpression != nil {
		if p.filter, err = expr.ParseCondition(expr.FilterExpression, *req.FilterExpression, scope); err != nil {
			return nil, err
		}
	}
	if req.ProjectionExpression != nil {
		if p.projection, err = expr.ParseProjection(*req.ProjectionExpression, scope); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// find sets the table that the page reads.
func (e *Engine) find(req *readRequest, p *page) (err error) {
	if p.table, err = e.table(req.TableName); err != nil {
		return err
	}
	if req.IndexName != nil {
		return invalid("The table does not have the specified index: %s", *req.IndexName)
	}
	return p.table.scalarKeys(p.filter, nil, p.projection)
}

type queryRequest struct {
	readRequest
	KeyConditionExpression *string
	ScanIndexForward       *bool
}

func (e *Engine) query(req *queryRequest) (any, error) {
	p, condition, err := req.parse()
	if err != nil {
		return nil, err
	}
	if err := e.find(&req.readRequest, p); err != nil {
		return nil, err
	}
	t := p.table
	keys, err := t.keyRange(condition)
	if err != nil {
		return nil, err
	}
	if err := t.refuseKeys(p.filter); err != nil {
		return nil, err
	}
	forward := req.ScanIndexForward == nil || *req.ScanIndexForward
	rows := t.rowsOf(keys.Partition)
	at, err := t.startQuery(req.ExclusiveStartKey, keys, rows, forward)
	if err != nil {
		return nil, err
	}
	p.readRows(rows, at, forward, keys.Sort)
	if t.sort.name == "" {
		p.more = false // nothing can follow the only item of a partition
	}
	return p.answer(&req.readRequest), nil
}

// parse checks the request and parses its expressions.
func (req *queryRequest) parse() (*page, expr.Condition, error) {
	if req.Limit != nil && *req.Limit < 1 { // Scan words this in another way
		return nil, nil, invalid("1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1")
	}
	if err := req.check(); err != nil {
		return nil, nil, err
	}
	if req.KeyConditionExpression == nil {
		return nil, nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	scope, err := req.scope(true)
	if err != nil {
		return nil, nil, err
	}
	p, err := req.open(scope)
	if err != nil {
		return nil, nil, err
	}
	condition, err := expr.ParseCondition(expr.KeyConditionExpression, *req.KeyConditionExpression, scope)
	if err != nil {
		return nil, nil, err
	}
	return p, condition, scope.Unused()
}

// readRows reads the rows from one on for which the condition on the sort key
// holds, until the page is full. A nil condition holds for all.
func (p *page) readRows(rows []row, at int, forward bool, sort expr.Condition) {
	step := 1
	if !forward {
		step = -1
	}
	for ; at >= 0 && at < len(rows); at += step {
		item := rows[at].item
		if (sort == nil || sort.Holds(item)) && !p.read(item) {
			return
		}
	}
}

// keyRange is the key condition for this table, its values checked against the
// types of the key.
func (t *table) keyRange(condition expr.Condition) (expr.KeyRange, error) {
	keys, err := expr.KeyRangeOf(condition, t.partition.name, t.sort.name)
	if err != nil {
		return keys, err
	}
	if keys.Partition.Kind != t.partition.kind || keys.Sort != nil && keys.SortValues[0].Kind != t.sort.kind {
		return keys, invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
	}
	if err := t.checkPartition(keys.Partition); err != nil {
		return keys, err
	}
	for _, v := range keys.SortValues {
		if err := t.checkSort(v); err != nil {
			return keys, err
		}
	}
	return keys, nil
}

// refuseKeys refuses a filter on the key, which belongs into the key condition.
func (t *table) refuseKeys(filter expr.Condition) error {
	var err error
	if filter != nil {
		expr.VisitCondition(filter, func(path expr.Path) {
			if name := path[0].Name; t.isKey(name) && err == nil {
				err = invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", name)
			}
		})
	}
	return err
}

func (t *table) rowsOf(partition value.Value) []row {
	if p := t.byKey[keyText(partition)]; p != nil {
		return p.rows
	}
	return nil
}

// startQuery is the index of the first row to look at.
func (t *table) startQuery(after value.Item, keys expr.KeyRange, rows []row, forward bool) (int, error) {
	if after == nil {
		if forward {
			return 0, nil
		}
		return len(rows) - 1, nil
	}
	k, err := t.primaryKey(after)
	if err != nil {
		return 0, invalid("The provided starting key is invalid: %s", asFailure(err).message)
	}
	if t.sort.name == "" {
		return 0, invalid("The provided exclusive start key is invalid: ExclusiveStartKey of a table without a sort key")
	}
	if !k.partition.Equal(keys.Partition) {
		return 0, invalid("The provided starting key is outside query boundaries based on provided conditions")
	}
	if keys.Sort != nil && !keys.Sort.Holds(after) {
		return 0, invalid("The provided starting key does not match the range key predicate")
	}
	at, found := (&part{rows: rows}).at(k.sort)
	switch {
	case !forward:
		return at - 1, nil
	case found:
		return at + 1, nil
	}
	return at, nil
}
