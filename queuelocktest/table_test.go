package queuelocktest_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

func TestTableSchema(t *testing.T) {
	for _, test := range []struct {
		opts              []queuelocktest.Option
		name, pk, sk, ttl string
	}{
		{nil, "queuelock", "pk", "sk", "expiresAt"},
		{[]queuelocktest.Option{
			queuelocktest.WithName("locks"),
			queuelocktest.WithKeys("entity", "place"),
			queuelocktest.WithTTLAttribute("gone"),
		}, "locks", "entity", "place", "gone"},
	} {
		table := queuelocktest.NewTable(t, test.opts...)
		alice := table.Client("alice")
		described := locktest.Must(alice.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(table.Name())}))
		ttl := locktest.Must(alice.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(table.Name())}))
		d := described.Table
		got := []any{table.Name(), d.TableStatus, ttl.TimeToLiveDescription.TimeToLiveStatus, aws.ToString(ttl.TimeToLiveDescription.AttributeName)}
		for _, k := range d.KeySchema {
			got = append(got, aws.ToString(k.AttributeName), k.KeyType)
		}
		want := []any{test.name, types.TableStatusActive, types.TimeToLiveStatusEnabled, test.ttl, test.pk, types.KeyTypeHash, test.sk, types.KeyTypeRange}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	}
}

func TestWithoutTable(t *testing.T) {
	table := queuelocktest.NewTable(t, queuelocktest.WithoutTable())
	list, err := table.Client("alice").ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(list.TableNames) != 0 {
		t.Errorf("got tables %v, %v", list.TableNames, err)
	}
}

func TestItems(t *testing.T) {
	table := queuelocktest.NewTable(t)
	alice := table.Client("alice")
	table.Inject(queuelocktest.LoseRequest().Of("Scan"))
	for _, k := range []string{"b 2", "a 2", "b 1", "a 1", "a 10"} {
		pk, sk, _ := strings.Cut(k, " ")
		locktest.OK(t, put(t, alice, pk, sk))
	}
	before := table.Counts()
	var got []string
	for _, it := range table.Items() {
		got = append(got, it["pk"].(*types.AttributeValueMemberS).Value+" "+it["sk"].(*types.AttributeValueMemberS).Value)
	}
	if !slices.Equal(got, []string{"a 1", "a 10", "a 2", "b 1", "b 2"}) {
		t.Errorf("%q", got)
	}
	if diff := table.Counts().Sub(before); len(diff) != 0 {
		t.Errorf("Items was counted:\n%s", diff)
	}
}

// TestCounts checks what is counted of each client and of all, of each kind of request. TestCapacity of test/conformance has
// the units that the engine reports.
func TestCounts(t *testing.T) {
	table := queuelocktest.NewTable(t)
	alice, bob := table.Client("alice"), table.Client("bob")
	if got := table.Counts(); len(got) != 0 {
		t.Fatalf("making the table was counted:\n%s", got)
	}
	locktest.Must(count(t, alice, "e", "lock/0"))
	locktest.OK(t, put(t, bob, "e", "lock/1"))
	var before queuelocktest.Counts
	for range 2 {
		before = table.Counts()
		if err := put(t, bob, "e", "lock/1"); err == nil {
			t.Error("the condition held")
		}
	}
	name := aws.String(table.Name())
	locktest.Must(bob.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: name, Key: key("e", "lock/0")}))
	locktest.Must(bob.Query(t.Context(), &dynamodb.QueryInput{
		TableName: name, KeyConditionExpression: aws.String("pk = :e"), ExpressionAttributeValues: item{":e": str("e")},
		ConsistentRead: aws.Bool(true),
	}))
	locktest.Must(bob.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: name, Item: key("e", "lock/2")}},
		{Delete: &types.Delete{TableName: name, Key: key("e", "lock/3")}},
	}}))
	want := queuelocktest.Counts{
		"PutItem":            {Sent: 1, Applied: 1, FailedConditions: 1, WriteUnits: 1},
		"GetItem":            {Sent: 1, Applied: 1, ReadUnits: 0.5},
		"Query":              {Sent: 1, Applied: 1, ReadUnits: 1},
		"TransactWriteItems": {Sent: 1, Applied: 1, WriteUnits: 4},
	}
	if got := table.Counts().Sub(before); !reflect.DeepEqual(got, want) {
		t.Errorf("counted\n%v\nwant\n%v", got, want)
	}
	if got, want := alice.Counts().Total(), (queuelocktest.Tally{Sent: 1, Applied: 1, WriteUnits: 1}); got != want {
		t.Errorf("alice counted as %+v, want %+v", got, want)
	}
	if got, want := table.Counts().Total(), (queuelocktest.Tally{Sent: 7, Applied: 7, FailedConditions: 2, ReadUnits: 1.5, WriteUnits: 8}); got != want {
		t.Errorf("all counted as %+v, want %+v", got, want)
	}
}

func TestCountsString(t *testing.T) {
	counts := queuelocktest.Counts{
		"UpdateItem": {Sent: 3, Applied: 2, FailedConditions: 1, WriteUnits: 2},
		"GetItem":    {Sent: 1, Applied: 1, ReadUnits: 0.5},
	}
	want := []string{
		"operation sent applied failed RCU WCU",
		"GetItem 1 1 0 0.5 0",
		"UpdateItem 3 2 1 0 2",
		"total 4 3 1 0.5 2",
	}
	var got []string
	for line := range strings.Lines(counts.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestDates(t *testing.T) {
	for _, want := range []bool{true, false} {
		var opts []queuelocktest.Option
		if !want {
			opts = append(opts, queuelocktest.WithoutDate())
		}
		table := queuelocktest.NewTable(t, opts...)
		out := locktest.Must(table.Client("alice").GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(table.Name()), Key: key("e", "s")}))
		if date, ok := awsmiddleware.GetServerTime(out.ResultMetadata); ok != want {
			t.Errorf("server time %v, %v; want one: %v", date, ok, want)
		}
	}
}

// TestClock checks that the clock is that of the database.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ahead := func() time.Time { return time.Now().Add(time.Hour) }
		table := queuelocktest.NewTable(t, queuelocktest.WithClock(ahead), queuelocktest.WithExpiry())
		alice := table.Client("alice")
		expiring := func(sk string, at time.Time) {
			t.Helper()
			it := key("e", sk)
			it["expiresAt"] = num(int(at.Unix()))
			out := locktest.Must(alice.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: it}))
			if date, _ := awsmiddleware.GetServerTime(out.ResultMetadata); !date.Equal(ahead().Truncate(time.Second)) {
				t.Errorf("server time is %v, want %v", date, ahead())
			}
		}
		expiring("soon", ahead().Add(time.Minute))
		expiring("later", ahead().Add(time.Hour))
		time.Sleep(2 * time.Minute)
		if items := table.Items(); len(items) != 1 || items[0]["sk"].(*types.AttributeValueMemberS).Value != "later" {
			t.Errorf("got %v, want only the item that has not expired", items)
		}
	})
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
		start := time.Now()
		locktest.OK(t, put(t, table.Client("alice"), "e", "s"))
		if got := time.Since(start); got != 10*time.Millisecond {
			t.Errorf("a request took %v", got)
		}
	})
}

func TestOtherEngine(t *testing.T) {
	asked := 0
	engine := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte("{}"))
	})
	table := queuelocktest.NewTable(t, queuelocktest.WithEngine(engine))
	alice := table.Client("alice", once)
	alice.Inject(queuelocktest.LoseResponse())
	if err := put(t, alice, "e", "s"); err == nil {
		t.Error("the fault was not played")
	}
	if asked != 3 {
		t.Errorf("the engine was asked %d times, want 3: table, time to live, item", asked)
	}
}

// fakeTB records what a test would print, and lets its cleanup run early.
type fakeTB struct {
	exampleT
	failed  bool
	printed strings.Builder
}

func (f *fakeTB) Failed() bool              { return f.failed }
func (f *fakeTB) Logf(s string, a ...any)   { fmt.Fprintf(&f.printed, s, a...) }
func (f *fakeTB) Errorf(s string, a ...any) { f.failed = true; f.Logf(s, a...) }

func TestFailurePrintsRequests(t *testing.T) {
	for _, failed := range []bool{false, true} {
		fake := &fakeTB{failed: failed}
		table := queuelocktest.NewTable(fake)
		locktest.OK(t, put(t, table.Client("alice"), "order-7", "s"))
		fake.end()
		printed := fake.printed.String()
		if failed != strings.Contains(printed, "order-7") || !failed && printed != "" {
			t.Errorf("failed = %v, printed %q", failed, printed)
		}
	}
}

func TestEndOfTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeTB{}
		table := queuelocktest.NewTable(fake)
		alice := table.Client("alice", once)
		alice.Inject(queuelocktest.Duplicate(time.Hour).Of("UpdateItem"))
		alice.Inject(queuelocktest.HoldRequest().Of("PutItem"))
		start := time.Now()
		locktest.Must(count(t, alice, "e", "s"))
		held := make(chan error, 1)
		go func() { held <- put(t, alice, "e", "t") }()
		synctest.Wait()
		fake.end()
		if err := <-held; err == nil {
			t.Error("a held request was answered")
		}
		if got := time.Since(start); got != 0 || fake.failed {
			t.Errorf("took %v, failed = %v: %s", got, fake.failed, fake.printed.String())
		}
		if got := counter(table); got != 1 || len(table.Items()) != 1 {
			t.Errorf("applied after the end of the test: %v", table.Items())
		}
	})
}

func TestTableOutsideBubble(t *testing.T) {
	table := queuelocktest.NewTable(t)
	alice := table.Client("alice")
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			defer alice.Inject(queuelocktest.Duplicate(time.Hour)).Remove()
			start := time.Now()
			locktest.Must(count(t, alice, "e", "s"))
			locktest.OK(t, table.Settle(context.Background()))
			if got := time.Since(start); got != time.Hour {
				t.Errorf("the duplicate landed after %v", got)
			}
		})
	}
	if got := counter(table); got != 4 {
		t.Errorf("applied %d times, want 4", got)
	}
}
