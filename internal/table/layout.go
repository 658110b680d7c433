package table

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/ticket"
)

// Attribute names of the serving record and of queue rows. The user chooses those in
// Layout.
const (
	AttrTicketNumber = "ticketNumber" // record, N: last ticket issued
	AttrServingAfter = "servingAfter" // record, N: present and absent with holders
	AttrGranted      = "granted"      // record, N: highest ticket claimed
	AttrHolders      = "holders"      // record, M: holder id to entry
	AttrTurn         = "turn"         // record, M: mean and deviation of recent turns
	AttrHoldMode     = "holdMode"     // record of a lock, S: mode of the holders; present and absent with them
	AttrPermits      = "permits"      // record of a semaphore, N: never changes
	AttrScope        = "scope"        // record, S: the wider counter that issues its tickets, absent if there is none; never changes
	AttrReleased     = "released"     // record, M: the last release: id, ticket and call of the holder
	AttrEvicted      = "evicted"      // record, M: the last eviction: id, ticket and made of the holder, and when

	AttrBeat       = "beat"       // entry and row, N: number of renewals
	AttrUntil      = "until"      // entry and row, N: end of the lease, ms on DynamoDB's clock
	AttrTTL        = "ttl"        // entry and row, N: length of the lease, ms
	AttrDelay      = "delay"      // entry, N: how long the queue stays closed after the lease, ms
	AttrFailClosed = "failClosed" // entry, BOOL: no lease once confirmed
	AttrSince      = "since"      // entry, N: time of the grant, ms on DynamoDB's clock
	AttrOwner      = "owner"      // entry and row, S
	AttrTicket     = "ticket"     // entry, N: present if granted by CLAIM
	AttrData       = "data"       // entry, B: the holder's data, absent if there is none
	AttrDataSet    = "dataSet"    // entry, N: number of the SetData that wrote data, absent before the first
	AttrMade       = "made"       // entry and evicted, N: number of the holder's last fenced transaction, absent from an entry before the first
	AttrCall       = "call"       // released, N: number of the holder's release call
	AttrOpen       = "open"       // released, N: when a transaction was given up before it was visible, ms on DynamoDB's clock, absent if none was
	AttrAt         = "at"         // evicted, N: ms on DynamoDB's clock, absent if unknown
	AttrID         = "id"         // row, S
	AttrMode       = "mode"       // row, and entry of a shared holder, S
	AttrCreatedAt  = "createdAt"  // row, N: ms on DynamoDB's clock, or the host's if unknown
	AttrMean       = "mean"       // turn, N: ms
	AttrDeviation  = "deviation"  // turn, N: ms
)

var reserved = slices.Concat(recordNames, []string{
	AttrMade, AttrCall, AttrOpen, AttrAt, AttrBeat, AttrUntil, AttrTTL, AttrSince, AttrOwner, AttrTicket,
	AttrData, AttrDataSet, AttrID, AttrMode, AttrCreatedAt, AttrDelay, AttrFailClosed,
})

// Layout names a table, and those of its attributes that the user chooses.
type Layout struct {
	Table string // table name or ARN
	PK    string // partition key, S
	SK    string // sort key, S
	TTL   string // the table's TTL attribute, N in epoch seconds, on queue rows only
}

// Validate returns an error if a name cannot be used.
func (l Layout) Validate() error {
	if problem := NameProblem(l.Table); problem != "" {
		return fmt.Errorf("the table name %s", problem)
	}
	seen := map[string]string{}
	for _, r := range reserved {
		seen[r] = "an attribute of the library's own"
	}
	for _, n := range []struct{ what, name string }{
		{"partition key", l.PK}, {"sort key", l.SK}, {"TTL attribute", l.TTL},
	} {
		if n.name == "" {
			return fmt.Errorf("the name of the %s is empty", n.what)
		}
		if len(n.name) > 255 {
			return fmt.Errorf("the name of the %s has %d bytes, at most 255 are allowed", n.what, len(n.name))
		}
		if other, ok := seen[n.name]; ok {
			return fmt.Errorf("the %s is named %q, which is also %s: choose another name", n.what, n.name, other)
		}
		seen[n.name] = "the " + n.what
	}
	return nil
}

// A table's name; DynamoDB also accepts its ARN.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

const maxTableARN = 1024

// NameProblem describes what is wrong with a table's name or ARN; "" if it can be used.
func NameProblem(name string) string {
	arn := strings.HasPrefix(name, "arn:")
	_, last, _ := strings.Cut(name, ":table/")
	switch {
	case name == "":
		return "is empty"
	case arn && len(name) > maxTableARN:
		return fmt.Sprintf("is an ARN of %d bytes: at most %d are possible", len(name), maxTableARN)
	case arn && !tableName.MatchString(last):
		return fmt.Sprintf(`is %q: an ARN that ends with ":table/" and a table's name is needed`, clip(name))
	case !arn && !tableName.MatchString(name):
		return fmt.Sprintf(`is %q: 3 to 255 letters, digits, "_", "-" and "." are possible, or an ARN`, clip(name))
	}
	return ""
}

// Queue is one queue in one table. Its items have the partition key Entity, and sort
// keys that begin with Reason and a slash.
type Queue struct {
	*Store
	Entity, Reason string
	Home           *Home // user's item with the serving record; nil: an item of the queue
}

var (
	zeros = strings.Repeat("0", ticket.Digits)
	nines = strings.Repeat("9", ticket.Digits)
)

// Limits of DynamoDB on key values, in bytes.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	MaxPartitionKey = 2048
	MaxSortKey      = 1024
	MaxReason       = MaxSortKey - 1 - ticket.Digits
)

// SortKey returns the sort key of the row with that padded number.
func (q Queue) SortKey(padded string) string { return q.Reason + "/" + padded }

// RecordSortKey returns the sort key of the serving record: ticket number zero.
func (q Queue) RecordSortKey() string { return q.SortKey(zeros) }

// LastSortKey returns the highest sort key of the queue.
func (q Queue) LastSortKey() string { return q.SortKey(nines) }

// Key returns the primary key of the item with that sort key.
func (q Queue) Key(sortKey string) Item {
	return Item{
		q.layout.PK: &types.AttributeValueMemberS{Value: q.Entity},
		q.layout.SK: &types.AttributeValueMemberS{Value: sortKey},
	}
}

// RecordKey returns the primary key of the serving record.
func (q Queue) RecordKey() Item {
	if q.Home != nil {
		return q.Home.Key
	}
	return q.Key(q.RecordSortKey())
}

// Record returns the table of the serving record, with the same clock.
func (q Queue) Record() *Store {
	if q.Home != nil {
		other := *q.Store
		other.layout.Table, other.home = q.Home.Table, q.Home
		return &other
	}
	return q.Store
}

// Attr returns the name of an attribute of the serving record.
func (q Queue) Attr(name string) string {
	if q.Home != nil {
		return q.Home.Prefix + name
	}
	return name
}

// Padded returns the digits in an item's sort key, or false if the item is not of this
// queue.
func (q Queue) Padded(item Item) (string, bool) {
	sk, ok := item[q.layout.SK].(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	padded, ok := strings.CutPrefix(sk.Value, q.Reason+"/")
	return padded, ok && len(padded) == ticket.Digits
}

// Same reports whether two values name the same queue of the same table.
func (q Queue) Same(o Queue) bool {
	return q.layout.Table == o.layout.Table && q.Entity == o.Entity && q.Reason == o.Reason
}

func (q Queue) String() string { return fmt.Sprintf("%s %s", q.Entity, q.Reason) }
