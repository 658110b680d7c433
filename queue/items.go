package queue

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/ticket"
)

// Items says where the items of a queue are, and how their attributes are named: the serving record, and behind it a
// row for each waiting ticket, in the order of tickets.
//
//	PK = Entity   SK = Reason/number of 38 digits, zero for the record
type Items struct {
	PK, SK, TTL    string // names of the partition key, the sort key and the table's TTL attribute
	Entity, Reason string
	Home           *Home // the user's item that has the record; nil: an item of the queue has it
}

// Home is an item of the user that has a serving record beside its own attributes.
type Home struct {
	Table  string
	Key    clause.Item
	Prefix string // of the record's attributes
	Create bool   // a missing item may be created
}

func (q Items) String() string { return q.Entity + " " + q.Reason }

// SortKey returns the sort key of the ticket's row. That of the record is the sort key of ticket zero, before all rows.
func (q Items) SortKey(t ticket.Number) string { return q.Reason + "/" + t.Padded() }

// RecordSortKey is the first sort key of the queue.
func (q Items) RecordSortKey() string { return q.Reason + "/" + padding }

// padding is that of the record, which comes before all rows.
var padding = ticket.Number{}.Padded()

// Key returns the key of the item with that sort key.
func (q Items) Key(sortKey string) clause.Item {
	return clause.Item{q.PK: clause.String(q.Entity), q.SK: clause.String(sortKey)}
}

// RecordKey returns the key of the item with the record.
func (q Items) RecordKey() clause.Item {
	if q.Home != nil {
		return q.Home.Key
	}
	return q.Key(q.RecordSortKey())
}

// padded returns the digits in the sort key of an item, or false for an item of another queue.
func (q Items) padded(item clause.Item) (string, bool) {
	padded, ok := strings.CutPrefix(text(item, q.SK), q.Reason+"/")
	return padded, ok && len(padded) == ticket.Digits
}

// text returns an attribute that is a string, or "".
func text(item clause.Item, attribute string) string {
	if s, ok := item[attribute].(*types.AttributeValueMemberS); ok && s != nil {
		return s.Value
	}
	return ""
}

// Names returns the user's names of attributes in the record.
func (q Items) Names() clause.Names {
	if q.Home == nil {
		return q.RowNames()
	}
	return clause.Names{Key: slices.Min(slices.Collect(maps.Keys(q.Home.Key))), Prefix: q.Home.Prefix}
}

// RowNames returns those in a row.
func (q Items) RowNames() clause.Names { return clause.Names{Key: q.PK, Expires: q.TTL} }

// Attr returns the name of an attribute of the record.
func (q Items) Attr(name string) string { return q.Names().Prefix + name }

// Owns reports whether an attribute belongs to the record.
func (h *Home) Owns(name string) bool {
	rest, ok := strings.CutPrefix(name, h.Prefix)
	return ok && slices.Contains(attr.Record(), rest)
}

// Strip returns the item without the record's attributes.
func (h *Home) Strip(item clause.Item) clause.Item {
	own := maps.Clone(item)
	maps.DeleteFunc(own, func(name string, _ types.AttributeValue) bool { return h.Owns(name) })
	return own
}
