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

	"github.com/queuelock/queuelock/clause"
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

// Queue is one queue in one table.
type Queue struct {
	*Store
	queue.Items
	// Forget is the time after which the table's TTL deletes an idle record. Zero: never.
	Forget time.Duration
}

// Queue returns a queue whose rows are in the table. home is the user's item that has its record, or nil.
func (s *Store) Queue(entity, reason string, home *queue.Home) Queue {
	return Queue{Store: s, Items: queue.Items{
		PK: s.layout.PK, SK: s.layout.SK, TTL: s.layout.TTL, Entity: entity, Reason: reason, Home: home,
	}}
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

// homeKeys are the keys of the table with a user's item.
type homeKeys struct{ *queue.Home }

func (h homeKeys) need() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(h.Key)) {
		parts = append(parts, fmt.Sprintf("%q (%s)", name, clause.TypeOf(h.Key[name])))
	}
	return "the key " + strings.Join(parts, " and ")
}

func (h homeKeys) check(t *types.TableDescription) bool {
	kinds := attributeTypes(t)
	for _, k := range t.KeySchema {
		name := aws.ToString(k.AttributeName)
		if clause.TypeOf(h.Key[name]) != string(kinds[name]) {
			return false
		}
	}
	return len(t.KeySchema) == len(h.Key)
}
