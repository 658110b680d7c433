package table

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Home is an item of the user that has a serving record beside its own attributes.
type Home struct {
	Table  string
	Key    Item
	Prefix string // of the record's attributes
	Create bool   // a missing item may be created
}

// recordNames are the attributes of the serving record, of any kind of queue.
var recordNames = []string{
	AttrTicketNumber, AttrServingAfter, AttrGranted, AttrHolders, AttrTurn, AttrHoldMode, AttrPermits, AttrScope,
	AttrReleased, AttrEvicted,
}

// RecordNames returns the names of all attributes that the queue's record may have.
func (q Queue) RecordNames() []string {
	var names []string
	for _, name := range recordNames {
		names = append(names, q.Attr(name))
	}
	return names
}

// Owns reports whether an attribute belongs to the serving record.
func (h *Home) Owns(name string) bool {
	rest, ok := strings.CutPrefix(name, h.Prefix)
	return ok && slices.Contains(recordNames, rest)
}

// Strip returns the item without the serving record's attributes.
func (h *Home) Strip(item Item) Item {
	own := maps.Clone(item)
	maps.DeleteFunc(own, func(name string, _ types.AttributeValue) bool { return h.Owns(name) })
	return own
}

// need describes the table that the item needs.
func (h *Home) need() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(h.Key)) {
		parts = append(parts, fmt.Sprintf("%q (%s)", name, KeyType(h.Key[name])))
	}
	return "a table with the key " + strings.Join(parts, " and ")
}

// check reports whether the item's key has the attributes of the table's key.
func (h *Home) check(t *types.TableDescription) bool {
	kinds := attributeTypes(t)
	for _, k := range t.KeySchema {
		name := aws.ToString(k.AttributeName)
		if h.Key[name] == nil || KeyType(h.Key[name]) != string(kinds[name]) {
			return false
		}
	}
	return len(t.KeySchema) == len(h.Key)
}

// KeyType returns the type of a key's value in a table's schema, or "" if a key cannot
// have it.
func KeyType(v types.AttributeValue) string {
	switch v.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberB:
		return "B"
	}
	return ""
}

func (s *Store) need() string {
	if s.home != nil {
		return s.home.need()
	}
	return s.layout.Need()
}

// check describes the table's keys, and reports whether they are those that are needed.
func (s *Store) check(t *types.TableDescription) (found string, ok bool) {
	found, ok = s.layout.Check(t)
	if s.home != nil {
		ok = s.home.check(t)
	}
	return found, ok
}
