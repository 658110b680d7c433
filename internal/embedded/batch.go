package embedded

import (
	"fmt"
	"maps"
	"slices"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// The most that one batch may carry.
const (
	maxBatchWrites = 25
	maxBatchReads  = 100
	maxBatchBytes  = 16 << 20
)

type batchWriteEntry struct {
	PutRequest    *struct{ Item value.Item } `json:",omitempty"`
	DeleteRequest *struct{ Key value.Item }  `json:",omitempty"`
}

type batchWriteItemRequest struct {
	RequestItems                map[string][]batchWriteEntry
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

// batchWriteItem checks all entries before it stores any. It leaves the items of
// ongoing transactions unprocessed.
func (e *Engine) batchWriteItem(req *batchWriteItemRequest) (any, error) {
	if err := checkCapacityMode(req.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	if len(req.RequestItems) == 0 {
		return nil, invalid("The requestItems parameter is required for BatchWriteItem")
	}
	var changes []change
	var all []batchWriteEntry
	var used keySet
	for _, name := range slices.Sorted(maps.Keys(req.RequestItems)) {
		entries := req.RequestItems[name]
		if n := len(entries); n == 0 || n > maxBatchWrites {
			return nil, constraint(fmt.Sprintf("{%s=[%d requests]}", name, n), "requestItems",
				"Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]")
		}
		if len(changes)+len(entries) > maxBatchWrites {
			return nil, invalid("Too many items requested for the BatchWriteItem call")
		}
		for _, entry := range entries {
			c, err := e.batchChange(name, entry)
			if err != nil {
				return nil, err
			}
			if !used.add(c.table, c.key) {
				return nil, invalid("Provided list of item keys contains duplicates")
			}
			changes, all = append(changes, c), append(all, entry)
		}
	}
	var costs tally
	unprocessed := map[string][]batchWriteEntry{}
	for i, c := range changes {
		if e.locked[c.id()] {
			unprocessed[c.table.name] = append(unprocessed[c.table.name], all[i])
			continue
		}
		o, err := e.run(c)
		if err != nil {
			return nil, err
		}
		e.store(c, o.after)
		costs.add(c.table.name, o.cost)
	}
	out := map[string]any{"UnprocessedItems": unprocessed}
	costs.addTo(out, req.ReturnConsumedCapacity, consumed)
	return out, nil
}

func (e *Engine) batchChange(tableName string, entry batchWriteEntry) (change, error) {
	switch {
	case entry.PutRequest != nil && entry.DeleteRequest != nil:
		return change{}, invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	case entry.PutRequest != nil:
		return e.preparePut(&changeRequest{TableName: tableName, Item: entry.PutRequest.Item})
	case entry.DeleteRequest != nil:
		c, err := e.prepareKeyed(&changeRequest{TableName: tableName, Key: entry.DeleteRequest.Key})
		c.delete = true
		return c, err
	}
	return change{}, invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
}

// keySet notices an item that comes twice in one request.
type keySet map[string]bool

func (s *keySet) add(t *table, k key) bool {
	text := t.name + "\x00" + k.text()
	if (*s)[text] {
		return false
	}
	if *s == nil {
		*s = keySet{}
	}
	(*s)[text] = true
	return true
}

type batchGetTable struct {
	Keys           []value.Item
	ConsistentRead bool
	projected
	legacy
}

type batchGetItemRequest struct {
	RequestItems           map[string]*batchGetTable
	ReturnConsumedCapacity string
}

// batchGetItem reads everything in one go, up to 16 MB; keys beyond come back
// unprocessed.
func (e *Engine) batchGetItem(req *batchGetItemRequest) (any, error) {
	if err := checkCapacityMode(req.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	if len(req.RequestItems) == 0 {
		return nil, invalid("The requestItems parameter is required for BatchGetItem")
	}
	read := batchRead{responses: map[string][]value.Item{}, unprocessed: map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(req.RequestItems)) {
		if err := e.batchGetTable(name, req.RequestItems[name], &read); err != nil {
			return nil, err
		}
	}
	out := map[string]any{"Responses": read.responses, "UnprocessedKeys": read.unprocessed}
	read.costs.addTo(out, req.ReturnConsumedCapacity, consumed)
	return out, nil
}

// batchRead collects what a BatchGetItem reads.
type batchRead struct {
	responses   map[string][]value.Item
	unprocessed map[string]any
	costs       tally
	used        keySet
	keys, bytes int
}

// batchGetTable reads the keys of one table.
func (e *Engine) batchGetTable(name string, get *batchGetTable, read *batchRead) error {
	if get == nil || len(get.Keys) == 0 {
		return invalid("1 validation error detected: Value at 'requestItems.%s.member.keys' failed to satisfy constraint: Member must have length greater than or equal to 1", name)
	}
	if len(get.Keys) > maxBatchReads {
		return invalid("1 validation error detected: Value at 'RequestItems.%s.member.Keys' failed to satisfy constraint: Member must have length less than or equal to %d", name, maxBatchReads)
	}
	if read.keys += len(get.Keys); read.keys > maxBatchReads {
		return invalid("Too many items requested for the BatchGetItem call")
	}
	if err := get.refuse(); err != nil {
		return err
	}
	projection, err := get.parse()
	if err != nil {
		return err
	}
	t, err := e.table(name)
	if err != nil {
		return err
	}
	if err := t.scalarKeys(nil, nil, projection); err != nil {
		return err
	}
	found, late := []value.Item{}, []value.Item{}
	for _, given := range get.Keys {
		k, err := t.primaryKey(given)
		if err != nil {
			return err
		}
		if !read.used.add(t, k) {
			return invalid("Provided list of item keys contains duplicates")
		}
		item := t.get(k)
		if read.bytes += item.Size(); read.bytes > maxBatchBytes {
			late = append(late, given)
			continue
		}
		read.costs.add(t.name, readCost(item.Size(), get.ConsistentRead))
		if item != nil {
			found = append(found, show(item, projection))
		}
	}
	read.responses[name] = found
	if len(late) > 0 {
		read.unprocessed[name] = map[string]any{"Keys": late, "ConsistentRead": get.ConsistentRead}
	}
	return nil
}
