package table

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Limits of DynamoDB on key values, in bytes.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	MaxPartitionKey = 2048
	MaxSortKey      = 1024
	MaxReason       = MaxSortKey - 1 - ticket.Digits
)

// ValidName returns an error if an entity and a reason cannot name a queue.
func ValidName(entity, reason string) error {
	switch {
	case entity == "":
		return errors.New("the entity is empty: name what is to be locked")
	case len(entity) > MaxPartitionKey:
		return fmt.Errorf("the entity has %d bytes: DynamoDB allows a partition key of %d", len(entity), MaxPartitionKey)
	case strings.Contains(reason, "/"):
		return fmt.Errorf("the reason %q contains a slash, which separates it from the ticket: use another character", reason)
	case len(reason) > MaxReason:
		return fmt.Errorf("the reason has %d bytes, at most %d are possible: DynamoDB allows a sort key of %d, "+
			"and the ticket needs the rest", len(reason), MaxReason, MaxSortKey)
	case !utf8.ValidString(entity):
		return fmt.Errorf("the entity %q is not valid UTF-8", entity)
	case !utf8.ValidString(reason):
		return fmt.Errorf("the reason %q is not valid UTF-8", reason)
	}
	return nil
}

// Queue is one queue in one table. Its items have the partition key Entity, and sort
// keys that begin with Reason and a slash.
type Queue struct {
	*Store
	Entity, Reason string
	Home           *Home // user's item with the serving record; nil: an item of the queue
	// Forget is the time after which the table's TTL deletes an idle record. Zero: never.
	Forget time.Duration
}

// SortKey returns the sort key of the row with that padded number.
func (q Queue) SortKey(padded string) string { return q.Reason + "/" + padded }

func (q Queue) RecordSortKey() string { return q.SortKey(ticket.Number{}.Padded()) }

func (q Queue) LastSortKey() string { return q.SortKey(ticket.Max.Padded()) }

func (q Queue) Key(sortKey string) clause.Item {
	return clause.Item{q.layout.PK: clause.String(q.Entity), q.layout.SK: clause.String(sortKey)}
}

func (q Queue) RecordKey() clause.Item {
	if q.Home != nil {
		return q.Home.Key
	}
	return q.Key(q.RecordSortKey())
}

// Record returns the table of the serving record, with the same clock.
func (q Queue) Record() *Store {
	if q.Home == nil {
		return q.Store
	}
	other := *q.Store
	other.layout.Table, other.home = q.Home.Table, q.Home
	return &other
}

// Attr returns the name of an attribute of the serving record.
func (q Queue) Attr(name string) string {
	if q.Home != nil {
		return q.Home.Prefix + name
	}
	return name
}

// Padded returns the digits in an item's sort key, or false for one of another queue.
func (q Queue) Padded(item clause.Item) (string, bool) {
	sk, ok := item[q.layout.SK].(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	padded, ok := strings.CutPrefix(sk.Value, q.Reason+"/")
	return padded, ok && len(padded) == ticket.Digits
}

func (q Queue) String() string { return fmt.Sprintf("%s %s", q.Entity, q.Reason) }

// Home is an item of the user that has a serving record beside its own attributes.
type Home struct {
	Table  string
	Key    clause.Item
	Prefix string // of the record's attributes
	Create bool   // a missing item may be created
}

// Owns reports whether an attribute belongs to the serving record.
func (h *Home) Owns(name string) bool {
	rest, ok := strings.CutPrefix(name, h.Prefix)
	return ok && slices.Contains(queue.RecordNames(), rest)
}

// Strip returns the item without the serving record's attributes.
func (h *Home) Strip(item clause.Item) clause.Item {
	own := maps.Clone(item)
	maps.DeleteFunc(own, func(name string, _ types.AttributeValue) bool { return h.Owns(name) })
	return own
}

func (h *Home) need() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(h.Key)) {
		parts = append(parts, fmt.Sprintf("%q (%s)", name, clause.TypeOf(h.Key[name])))
	}
	return "the key " + strings.Join(parts, " and ")
}

func (h *Home) check(t *types.TableDescription) bool {
	kinds := attributeTypes(t)
	for _, k := range t.KeySchema {
		name := aws.ToString(k.AttributeName)
		if clause.TypeOf(h.Key[name]) != string(kinds[name]) {
			return false
		}
	}
	return len(t.KeySchema) == len(h.Key)
}
