package locktest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/audit"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
	"github.com/queuelock/queuelock/internal/testbed/transition"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

// Record returns the record of [Order]'s queue, and the holders in it.
func Record(t *testing.T, table *queuelocktest.Table) (record, holders av.Item) {
	t.Helper()
	for _, i := range table.Items() {
		if av.Text(i["sk"]) == av.Text(RecordKey()["sk"]) {
			record = i
		}
	}
	if m, ok := record["holders"].(*types.AttributeValueMemberM); ok {
		holders = m.Value
	}
	return record, holders
}

// Entries returns the entries of all holders in the table, read around all faults.
func Entries(table *queuelocktest.Table) []map[string]types.AttributeValue {
	var all []map[string]types.AttributeValue
	for _, item := range table.Items() {
		if holders, ok := item["holders"].(*types.AttributeValueMemberM); ok {
			for _, entry := range holders.Value {
				all = append(all, entry.(*types.AttributeValueMemberM).Value)
			}
		}
	}
	return all
}

// Write puts items into the table.
func Write(t *testing.T, table *queuelocktest.Table, items ...av.Item) {
	t.Helper()
	db := table.Client("given")
	for batch := range slices.Chunk(items, 25) {
		var puts []types.WriteRequest
		for _, i := range batch {
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: i}})
		}
		out, err := db.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table.Name(): puts}})
		OK(t, err)
		if n := len(out.UnprocessedItems[table.Name()]); n > 0 {
			t.Fatalf("%d items were not written", n)
		}
	}
}

// Confirmation is in the expression of a CONFIRM and of no other request.
const Confirmation = ".ttl SET holders."

// LeftRow returns the row of a crashed waiter: well-formed, with ticket n and a
// lease of ten seconds.
func LeftRow(n int) av.Item {
	return av.Item{
		"pk": av.Str(Order.Entity), "sk": av.Str(RowSortKey(n)), "id": av.Str(fmt.Sprint("id-", n)), "owner": av.Str("owner"),
		"mode": av.Str("exclusive"), "beat": av.Num(3), "ttl": av.Num(TTL.Milliseconds()),
	}
}

// RowSortKey returns the sort key of ticket n's row.
func RowSortKey(n int) string { return "lock/" + ticket.FromUint64(uint64(n)).Padded() }

// Watched returns a table that is audited, and whose changes package transition must describe, but for those by a
// test's own hands. A violation fails the test at its end. A client that resumes is to be named "new", or "b" after "a".
func Watched(t *testing.T) *queuelocktest.Table { return watched(t, embedded.Config{}) }

// WatchedAs is Watched for leases that are judged in that one of the ways of [Judged].
func WatchedAs(t *testing.T, how string) *queuelocktest.Table {
	return watched(t, embedded.Config{OmitDate: Judged[how] != nil})
}

func watched(t *testing.T, engine embedded.Config) *queuelocktest.Table {
	judged, violations := watch(engine)
	t.Cleanup(func() {
		for _, v := range violations() {
			t.Error(v)
		}
	})
	return queuelocktest.NewTable(t, queuelocktest.WithEngine(judged), queuelocktest.WithLatency(4*time.Millisecond))
}

// watch returns an engine that is judged, and what was wrong so far.
func watch(engine embedded.Config) (judged http.Handler, violations func() []string) {
	var mu sync.Mutex // of what is wrong; the engine's guards writes
	writes, wrong := transition.New("queuelock"), []string{}
	engine.Applied = func(by *http.Request, changes []embedded.Change) {
		found := writes.Judge(bodyOf(by), changes)
		if by == nil || !slices.Contains(hands, faultnet.ClientOf(by)) {
			mu.Lock()
			defer mu.Unlock()
			wrong = append(wrong, found...)
		}
	}
	a := audit.New(engine, "queuelock", time.Now)
	a.Resumes = func(old, next string) bool { return next == "new" || next == "b" && old == "a" }
	return reading{a}, func() []string {
		all := a.Violations()
		mu.Lock()
		defer mu.Unlock()
		return append(all, wrong...)
	}
}

// hands are the clients by which tests write items themselves.
var hands = []string{"given", "operator", "editor"}

// reading is an engine whose requests have their bodies as a value, also when those are read.
type reading struct{ http.Handler }

type bodyKey struct{}

func (e reading) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := Must(io.ReadAll(r.Body))
	r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, body))
	r.Body = io.NopCloser(bytes.NewReader(body))
	e.Handler.ServeHTTP(w, r)
}

func bodyOf(r *http.Request) (body []byte) {
	if r != nil {
		body, _ = r.Context().Value(bodyKey{}).([]byte)
	}
	return body
}

// WithWatched is [WithTable] with a table that is [Watched].
func WithWatched(t *testing.T, f func(t *testing.T, table *queuelocktest.Table)) {
	synctest.Test(t, func(t *testing.T) { f(t, Watched(t)) })
}

// InWatched is [InTable] with a table that is [Watched].
func InWatched(t *testing.T, name string, f func(t *testing.T, table *queuelocktest.Table)) {
	t.Run(name, func(t *testing.T) { WithWatched(t, f) })
}

// RecordKey returns the key of the record of [Order]'s queue.
func RecordKey() map[string]types.AttributeValue {
	return av.Item{"pk": av.Str(Order.Entity), "sk": av.Str(RowSortKey(0))}
}
