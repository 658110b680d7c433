package embedded

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// ledger is a Journal in memory.
type ledger struct {
	hold    chan struct{} // if set, Keep waits until it is closed
	appends [][]Entry
	err     error
}

func (l *ledger) Append(entries []Entry) uint64 {
	l.appends = append(l.appends, entries)
	return uint64(len(l.appends))
}

func (l *ledger) Keep(uint64) error {
	if l.hold != nil {
		<-l.hold
	}
	return l.err
}

// entries is what a file would hold after all appends.
func (l *ledger) entries() []Entry {
	var all []Entry
	for _, entry := range slices.Concat(l.appends...) {
		all = slices.DeleteFunc(all, func(old Entry) bool {
			gone := entry.Kind == TableEntry && entry.Value == nil && old.Table == entry.Table
			return gone || old.Kind == entry.Kind && old.Table == entry.Table && old.Key == entry.Key
		})
		if entry.Value != nil {
			all = append(all, entry)
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return int(a.Kind) - int(b.Kind) })
	return all
}

// TestRestore compares what an engine answers with what one answers that goes on with its journal.
func TestRestore(t *testing.T) {
	l := &ledger{}
	e := engine(t, Config{Journal: l})
	ok(t, e, "CreateTable", tableOf("gone", "N"))
	put(t, e, `"n":{"N":"1.50"},"b":{"B":"AAH/"},"m":{"M":{"l":{"L":[{"NULL":true},{"SS":["x","y"]}]}}}`)
	ok(t, e, "UpdateItem", `{`+at("2")+`,"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}`)
	ok(t, e, "DeleteItem", `{`+at("3")+`}`)
	ok(t, e, "UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"AttributeName":"end","Enabled":true}}`)
	ok(t, e, "DeleteTable", `{"TableName":"gone"}`)
	once := `{"ClientRequestToken":"once","TransactItems":[{"Update":{` + at("2") + `,"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}}]}`
	ok(t, e, "TransactWriteItems", once)

	again := New(Config{Now: e.cfg.Now})
	if err := again.Restore(slices.Values(l.entries())); err != nil {
		t.Fatal(err)
	}
	ok(t, again, "TransactWriteItems", once) // its token is known, so it adds nothing
	refused(t, again, "TransactWriteItems", strings.Replace(once, "ADD n :one", "SET n = :one", 1), "IdempotentParameterMismatchException", "")
	for _, request := range [][2]string{
		{"ListTables", `{}`},
		{"DescribeTable", `{"TableName":"tab"}`},
		{"DescribeTimeToLive", `{"TableName":"tab"}`},
		{"Scan", `{"TableName":"tab"}`},
	} {
		if got, want := send(again, request[0], request[1]).Body.String(), send(e, request[0], request[1]).Body.String(); got != want {
			t.Errorf("%s: %s\nwant %s", request[0], got, want)
		}
	}
}

// TestRestoreTokens checks that tokens end in the order of their times, and leave the journal.
func TestRestoreTokens(t *testing.T) {
	now, l := epoch, &ledger{}
	clock := func() time.Time { return now }
	e := engine(t, Config{Journal: l, Now: clock})
	write := func(e *Engine, token string) {
		ok(t, e, "TransactWriteItems", `{"ClientRequestToken":"`+token+`","TransactItems":[{"Put":{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}}]}`)
	}
	write(e, "z")
	now = now.Add(time.Minute)
	write(e, "a")
	again := New(Config{Journal: l, Now: clock})
	if err := again.Restore(slices.Values(l.entries())); err != nil {
		t.Fatal(err)
	}
	now = epoch.Add(tokenLife)
	write(again, "b")
	var left []string
	for _, entry := range l.entries() {
		if entry.Kind == TokenEntry {
			left = append(left, entry.Key)
		}
	}
	if slices.Sort(left); !slices.Equal(left, []string{"a", "b"}) {
		t.Errorf("tokens %v, want a and b", left)
	}
}

func TestDamagedEntries(t *testing.T) {
	table := Entry{Kind: TableEntry, Table: "tab", Value: []byte(`{"Request":` + tableOf("tab", "S") + `}`)}
	for _, entries := range [][]Entry{
		{{Kind: TableEntry, Table: "tab", Value: []byte(`{`)}},
		{{Kind: TableEntry, Table: "tab", Value: []byte(`{}`)}},
		{{Kind: ItemEntry, Table: "tab", Key: "k", Value: []byte(`{}`)}},
		{table, {Kind: ItemEntry, Table: "tab", Key: "k", Value: []byte(`{`)}},
		{table, {Kind: ItemEntry, Table: "tab", Key: "k", Value: []byte(`{"pk":{"S":"a"}}`)}},
		{{Kind: TokenEntry, Key: "k", Value: []byte(`7`)}},
	} {
		if err := New(Config{}).Restore(slices.Values(entries)); err == nil || !strings.Contains(err.Error(), "entry ") {
			t.Errorf("%v: error %v", entries, err)
		}
	}
}

// TestAnswersWait checks that neither a write nor what has seen it is answered before it is kept.
func TestAnswersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{}
		e := engine(t, Config{Journal: l})
		l.hold = make(chan struct{})
		answers := make(chan int, 3)
		for _, request := range [][2]string{
			{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}`},
			{"GetItem", `{` + at("1") + `}`},
			{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"S":"1"}},"ConditionExpression":"attribute_not_exists(pk)"}`},
		} {
			go func() { answers <- send(e, request[0], request[1]).Code }()
			time.Sleep(time.Second)
		}
		if n := len(answers); n > 0 || len(e.Items("tab")) != 1 {
			t.Errorf("%d answers before the write is kept", n)
		}
		close(l.hold)
		synctest.Wait()
		if n := len(answers); n != 3 {
			t.Errorf("%d answers, want 3", n)
		}
	})
}

// TestLostJournal checks that nothing is answered that could not be kept.
func TestLostJournal(t *testing.T) {
	l := &ledger{}
	e := engine(t, Config{Journal: l})
	l.err = errors.New("no space is left")
	if w := send(e, "Scan", `{"TableName":"tab"}`); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "InternalServerError") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestTogether checks that the items of a transaction are kept together, with its token.
func TestTogether(t *testing.T) {
	l := &ledger{}
	e := engine(t, Config{Journal: l})
	ok(t, e, "TransactWriteItems", `{"ClientRequestToken":"x","TransactItems":[
		{"Put":{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}},{"Delete":{`+at("2")+`}},{"ConditionCheck":{`+at("3")+`,"ConditionExpression":"attribute_not_exists(pk)"}}]}`)
	if n := len(l.appends); n != 2 || len(l.appends[1]) != 3 { // the first is the table
		t.Errorf("%d appends, the last of %v", n, l.appends[n-1])
	}
}
