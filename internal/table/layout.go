package table

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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
	AttrScope        = "scope"        // record, S: the wider counter that issues its tickets, absent without one
	AttrReleased     = "released"     // record, M: the last release: id, ticket and call of the holder
	AttrEvicted      = "evicted"      // record, M: the last eviction: id, ticket and made of the holder, and when
	AttrUnsettled    = "unsettled"    // record, NS: until when transactions may begin that were given up before they were visible, ms

	AttrBeat       = "beat"       // entry and row, N: number of renewals
	AttrUntil      = "until"      // entry and row, N: end of the lease, ms on DynamoDB's clock
	AttrTTL        = "ttl"        // entry and row, N: length of the lease, ms
	AttrDelay      = "delay"      // entry, N: how long the queue stays closed after the lease, ms
	AttrFailClosed = "failClosed" // entry, BOOL: no lease once confirmed
	AttrSince      = "since"      // entry, N: time of the grant, ms on DynamoDB's clock
	AttrOwner      = "owner"      // entry and row, S
	AttrTicket     = "ticket"     // entry, N: present if granted by CLAIM
	AttrNamed      = "named"      // entry, BOOL: a release granted it to the waiter's row; absent otherwise
	AttrData       = "data"       // entry, B: the holder's data, absent if there is none
	AttrDataSet    = "dataSet"    // entry, N: number of the SetData that wrote data, absent before the first
	AttrMade       = "made"       // entry and evicted, N: number of the last fenced transaction, absent before the first
	AttrCall       = "call"       // released, N: number of the holder's release call
	AttrAt         = "at"         // evicted, N: ms on DynamoDB's clock, absent if unknown
	AttrID         = "id"         // row, S
	AttrEntryID    = "entryId"    // row, S: id of the entry by which a release may grant the lock to its waiter; absent if none may
	AttrMode       = "mode"       // row, and entry of a shared holder, S
	AttrCreatedAt  = "createdAt"  // row, N: ms on DynamoDB's clock, or the host's if unknown
	AttrMean       = "mean"       // turn, N: ms
	AttrDeviation  = "deviation"  // turn, N: ms
)

// recordNames are the attributes of the serving record, of any kind of queue.
var recordNames = []string{
	AttrTicketNumber, AttrServingAfter, AttrGranted, AttrHolders, AttrTurn, AttrHoldMode, AttrPermits, AttrScope,
	AttrReleased, AttrEvicted, AttrUnsettled,
}

var reserved = append(slices.Clone(recordNames),
	AttrMade, AttrCall, AttrAt, AttrBeat, AttrUntil, AttrTTL, AttrSince, AttrOwner, AttrTicket,
	AttrData, AttrDataSet, AttrID, AttrMode, AttrCreatedAt, AttrDelay, AttrFailClosed,
	AttrNamed, AttrEntryID)

// Layout names a table, and those of its attributes that the user chooses.
type Layout struct {
	Table string // table name or ARN
	PK    string // partition key, S
	SK    string // sort key, S
	TTL   string // the table's TTL attribute, N in epoch seconds; on queue rows, and on idle records with Queue.Forget
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
	names := []struct{ what, name string }{{"partition key", l.PK}, {"sort key", l.SK}, {"TTL attribute", l.TTL}}
	for _, n := range names {
		switch other, taken := seen[n.name]; {
		case n.name == "":
			return fmt.Errorf("the name of the %s is empty", n.what)
		case len(n.name) > 255:
			return fmt.Errorf("the name of the %s has %d bytes, at most 255 are allowed", n.what, len(n.name))
		case !utf8.ValidString(n.name):
			return fmt.Errorf("the %s is named %q: valid UTF-8 is needed", n.what, clip(n.name))
		case strings.ContainsAny(n.name, "[]"):
			return fmt.Errorf("the %s is named %q: the SDK's expressions cannot name it: choose a name without brackets", n.what, clip(n.name))
		case taken:
			return fmt.Errorf("the %s is named %q, which is also %s: choose another name", n.what, n.name, other)
		}
		seen[n.name] = "the " + n.what
	}
	return nil
}

func (l Layout) need() string {
	return fmt.Sprintf("partition key %q (S) and sort key %q (S)", l.PK, l.SK)
}

func (l Layout) check(t *types.TableDescription) bool { return keysOf(t) == l.need() }

// Check describes the keys of a table, and reports whether they are the layout's.
func (l Layout) Check(t *types.TableDescription) (found string, ok bool) {
	return keysOf(t), l.check(t)
}

// keysOf describes the keys of a table.
func keysOf(t *types.TableDescription) (found string) {
	kinds, sort := attributeTypes(t), " and no sort key"
	for _, k := range t.KeySchema {
		name := aws.ToString(k.AttributeName)
		if k.KeyType == types.KeyTypeHash {
			found = fmt.Sprintf("partition key %q (%s)", name, kinds[name])
		} else {
			sort = fmt.Sprintf(" and sort key %q (%s)", name, kinds[name])
		}
	}
	return found + sort
}

func attributeTypes(t *types.TableDescription) map[string]types.ScalarAttributeType {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range t.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	return kinds
}

// A table's name; DynamoDB also accepts its ARN.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

// NameProblem describes what is wrong with a table's name or ARN; "" if it can be used.
func NameProblem(name string) string {
	arn := strings.HasPrefix(name, "arn:")
	_, last, _ := strings.Cut(name, ":table/")
	switch {
	case name == "":
		return "is empty"
	case arn && len(name) > 1024:
		return fmt.Sprintf("is an ARN of %d bytes: at most 1024 are possible", len(name))
	case arn && !tableName.MatchString(last):
		return fmt.Sprintf(`is %q: an ARN that ends with ":table/" and a table's name is needed`, clip(name))
	case !arn && !tableName.MatchString(name):
		return fmt.Sprintf(`is %q: 3 to 255 letters, digits, "_", "-" and "." are possible, or an ARN`, clip(name))
	}
	return ""
}
