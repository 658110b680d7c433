package queuelocktest

import (
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// Request is one attempt of a client, as [Fault.Where] sees it.
type Request struct {
	Client    string         // the name given to Table.Client
	Operation string         // such as "UpdateItem"
	Attempt   int            // 1 for the first try of a call, 2 for the SDK's first retry, and so on
	Body      map[string]any // the decoded JSON body; shared: read it, do not write to it

	wire faultnet.Request
	keys [2]string
}

// Expression returns all expressions of the request in one line, with names and values
// in the place of their placeholders: a key condition or an update first, a condition
// after IF. For example:
//
//	SET granted = 5 REMOVE servingAfter IF size(holders) = 0 AND granted < 5
//
// Strings are in double quotes, maps in braces. The actions of a transaction are joined
// by "; ". A request without expressions gives "".
func (r Request) Expression() string { return r.wire.Expression() }

// ItemKey is the primary key of an item.
type ItemKey struct{ Partition, Sort string }

// Items returns the keys of the items that the request names, in its order. A Query or
// Scan names none.
func (r Request) Items() []ItemKey {
	var keys []ItemKey
	for _, item := range r.wire.Items() {
		keys = append(keys, ItemKey{stringOf(item[r.keys[0]]), stringOf(item[r.keys[1]])})
	}
	return keys
}

// String describes the request in one line, as the log does.
func (r Request) String() string { return r.Client + " " + r.Operation + " " + r.wire.Describe() }

func stringOf(value any) string {
	typed, _ := value.(map[string]any)
	s, _ := typed["S"].(string)
	return s
}
