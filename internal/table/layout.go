package table

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Attribute names of the serving record and of queue rows. Those of the keys
// and of the table's TTL are the user's choice and stand in Layout.
const (
	AttrTicketNumber = "ticketNumber" // record, N: last ticket issued
	AttrServingAfter = "servingAfter" // record, N: beside holders, present together or absent together
	AttrGranted      = "granted"      // record, N: highest ticket claimed
	AttrHolders      = "holders"      // record, M: holder id to entry
	AttrTurn         = "turn"         // record, M: mean and deviation of recent turns
	AttrHoldMode     = "holdMode"     // record of a lock, S: how those in holders hold; present and absent with holders
	AttrPermits      = "permits"      // record of a semaphore, N: how many hold at once, for life; absent from a lock's
	AttrScope        = "scope"        // record, S: which wider counter issues its tickets, for life; absent: the record does
	AttrReleased     = "released"     // record, M: the last release: id, ticket and call of the holder
	AttrEvicted      = "evicted"      // record, M: the last eviction: id, ticket and made of the holder, and when

	AttrBeat       = "beat"       // entry and row, N: number of renewals
	AttrUntil      = "until"      // entry and row, N: end of the lease, ms on DynamoDB's clock
	AttrTTL        = "ttl"        // entry and row, N: length of the lease, ms
	AttrDelay      = "delay"      // entry, N: for how long the queue stays closed after a lease that was lost, ms
	AttrFailClosed = "failClosed" // entry, BOOL: true once confirmed means that it has no lease
	AttrSince      = "since"      // entry, N: when it was granted, ms on DynamoDB's clock
	AttrOwner      = "owner"      // entry and row, S
	AttrTicket     = "ticket"     // entry, N: present if it came by CLAIM
	AttrData       = "data"       // entry, B: the holder's own; absent if it has none
	AttrDataSet    = "dataSet"    // entry, N: which SetData wrote data; absent before the first
	AttrMade       = "made"       // entry and evicted, N: number of the holder's last fenced transaction; absent from an entry before the first
	AttrCall       = "call"       // released, N: which of the holder's calls released the lock
	AttrOpen       = "open"       // released, N: when a transaction was given up without being visible, ms on DynamoDB's clock; absent if none was
	AttrAt         = "at"         // evicted, N: ms on DynamoDB's clock; absent if unknown
	AttrID         = "id"         // row, S
	AttrMode       = "mode"       // row, S, and entry that shares
	AttrCreatedAt  = "createdAt"  // row, N: ms on DynamoDB's clock, or the host's if unknown
	AttrMean       = "mean"       // turn, N: ms
	AttrDeviation  = "deviation"  // turn, N: ms
)

var reserved = []string{
	AttrTicketNumber, AttrServingAfter, AttrGranted, AttrHolders, AttrTurn, AttrHoldMode, AttrPermits, AttrScope,
	AttrReleased, AttrEvicted, AttrMade, AttrCall, AttrOpen, AttrAt, AttrBeat, AttrUntil, AttrTTL,
	AttrSince, AttrOwner, AttrTicket, AttrData, AttrDataSet, AttrID, AttrMode, AttrCreatedAt,
	AttrDelay, AttrFailClosed,
}

// Layout names a table and the attributes of it that the user may choose.
type Layout struct {
	Table string // table name or ARN
	PK    string // partition key, S
	SK    string // sort key, S
	TTL   string // the table's TTL attribute, N in epoch seconds, on queue rows only
}

// Validate says what is wrong with the names, if anything.
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

// What DynamoDB takes for a table: its name, or its ARN.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

const maxTableARN = 1024

// NameProblem is what is wrong with a table's name or ARN, or "".
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

// Queue is one queue in one table: every item of it shares the partition key
// Entity, and its sort keys start with Reason and a slash.
type Queue struct {
	*Store
	Entity, Reason string
	// Home is where the serving record is kept, if on an item of the user's own;
	// nil: at ticket number zero of the queue.
	Home *Home
}

// numberWidth is the length of a padded ticket: DynamoDB keeps numbers exact
// to 38 digits.
const numberWidth = 38

var (
	zeros = strings.Repeat("0", numberWidth)
	nines = strings.Repeat("9", numberWidth)
)

// Limits of DynamoDB on key values, in bytes.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	MaxPartitionKey = 2048
	MaxSortKey      = 1024
	MaxReason       = MaxSortKey - 1 - numberWidth
)

// SortKey is the sort key of the row with that padded number.
func (q Queue) SortKey(padded string) string { return q.Reason + "/" + padded }

// RecordSortKey is the sort key of the serving record: ticket number zero.
func (q Queue) RecordSortKey() string { return q.SortKey(zeros) }

// LastSortKey is the highest sort key the queue can have.
func (q Queue) LastSortKey() string { return q.SortKey(nines) }

// Key is the primary key of the item with that sort key.
func (q Queue) Key(sortKey string) Item {
	return Item{
		q.layout.PK: &types.AttributeValueMemberS{Value: q.Entity},
		q.layout.SK: &types.AttributeValueMemberS{Value: sortKey},
	}
}

// RecordKey is the primary key of the serving record.
func (q Queue) RecordKey() Item {
	if q.Home != nil {
		return q.Home.Key
	}
	return q.Key(q.RecordSortKey())
}

// Record is the table in which the serving record is kept.
func (q Queue) Record() *Store {
	if q.Home != nil {
		return q.on(q.Home)
	}
	return q.Store
}

// Attr is the name of one of the serving record's own attributes.
func (q Queue) Attr(name string) string {
	if q.Home != nil {
		return q.Home.Prefix + name
	}
	return name
}

// Padded is the number part of an item's sort key, or false if the item is
// not one of this queue's.
func (q Queue) Padded(item Item) (string, bool) {
	sk, ok := item[q.layout.SK].(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	padded, ok := strings.CutPrefix(sk.Value, q.Reason+"/")
	return padded, ok && len(padded) == numberWidth
}

// Same reports whether two values name the same queue of the same table.
func (q Queue) Same(o Queue) bool {
	return q.layout.Table == o.layout.Table && q.Entity == o.Entity && q.Reason == o.Reason
}

func (q Queue) String() string { return fmt.Sprintf("%s %s", q.Entity, q.Reason) }
