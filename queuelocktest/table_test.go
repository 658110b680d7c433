package queuelocktest_test

import (
	"context"
	"errors"
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

// TestTableSchema checks that a table has the keys and the TTL of a lock table.
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

// TestWithoutTable checks that a database without a table starts empty.
func TestWithoutTable(t *testing.T) {
	table := queuelocktest.NewTable(t, queuelocktest.WithoutTable())
	list, err := table.Client("alice").ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(list.TableNames) != 0 {
		t.Errorf("got tables %v, %v", list.TableNames, err)
	}
}

// TestItems checks that items are in order, and reading them is not counted.
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

// TestCounts checks that counts are exact for a typical queue.
func TestCounts(t *testing.T) {
	table := queuelocktest.NewTable(t)
	alice, bob := table.Client("alice"), table.Client("bob")
	if got := table.Counts(); len(got) != 0 {
		t.Fatalf("making the table was counted:\n%s", got)
	}
	ctx := t.Context()
	check := func(what string, want queuelocktest.Counts, do func() error) {
		t.Helper()
		before := table.Counts()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := table.Counts().Sub(before); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%v\nwant\n%v", what, got, want)
		}
	}
	check("an update", queuelocktest.Counts{"UpdateItem": {Sent: 1, Applied: 1, WriteUnits: 1}}, func() error {
		_, err := count(t, alice, "e", "lock/0")
		return err
	})
	check("a put of 1.5 KB", queuelocktest.Counts{"PutItem": {Sent: 1, Applied: 1, WriteUnits: 2}}, func() error {
		in := key("e", "lock/1")
		in["data"] = str(strings.Repeat("x", 1500))
		_, err := alice.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: in})
		return err
	})
	check("a failed condition on it", queuelocktest.Counts{"PutItem": {Sent: 1, Applied: 1, FailedConditions: 1, WriteUnits: 2}}, func() error {
		if err := put(t, bob, "e", "lock/1"); err == nil {
			return fmt.Errorf("the condition held")
		}
		return nil
	})
	for _, consistent := range []bool{false, true} {
		units := 0.5
		if consistent {
			units = 1
		}
		check("a read", queuelocktest.Counts{"GetItem": {Sent: 1, Applied: 1, ReadUnits: units}}, func() error {
			_, err := bob.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(table.Name()), Key: key("e", "lock/0"), ConsistentRead: &consistent})
			return err
		})
		check("a query", queuelocktest.Counts{"Query": {Sent: 1, Applied: 1, ReadUnits: units}}, func() error {
			_, err := bob.Query(ctx, &dynamodb.QueryInput{
				TableName:                 aws.String(table.Name()),
				KeyConditionExpression:    aws.String("pk = :e"),
				ExpressionAttributeValues: item{":e": str("e")},
				ConsistentRead:            &consistent,
			})
			return err
		})
	}
	check("a transaction", queuelocktest.Counts{"TransactWriteItems": {Sent: 1, Applied: 1, WriteUnits: 4}}, func() error {
		_, err := bob.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: aws.String(table.Name()), Item: key("e", "lock/2")}},
			{Delete: &types.Delete{TableName: aws.String(table.Name()), Key: key("e", "lock/3")}},
		}})
		return err
	})
	if got, want := alice.Counts().Total(), (queuelocktest.Tally{Sent: 2, Applied: 2, WriteUnits: 3}); got != want {
		t.Errorf("alice counted as %+v, want %+v", got, want)
	}
	if got, want := table.Counts().Total(), (queuelocktest.Tally{Sent: 8, Applied: 8, FailedConditions: 1, ReadUnits: 3, WriteUnits: 9}); got != want {
		t.Errorf("all counted as %+v, want %+v", got, want)
	}
}

// TestCountsString checks that counts are printed as a table.
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
	for _, test := range []struct {
		name string
		opts []queuelocktest.Option
		date bool
	}{
		{"current", nil, true},
		{"without date", []queuelocktest.Option{queuelocktest.WithoutDate()}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, test.opts...)
			alice := table.Client("alice")
			locktest.OK(t, put(t, alice, "e", "s"))
			var failed *types.ConditionalCheckFailedException
			errors.As(put(t, alice, "e", "s"), &failed)
			if failed == nil || failed.Item == nil {
				t.Errorf("failed condition %+v, want its item", failed)
			}
			out := locktest.Must(alice.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(table.Name()), Key: key("e", "s")}))
			if date, ok := awsmiddleware.GetServerTime(out.ResultMetadata); ok != test.date {
				t.Errorf("server time %v, %v; want one: %v", date, ok, test.date)
			}
		})
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

// TestLatency checks that the latency is that of the round trip.
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

// TestOtherEngine checks that another engine can be used behind the faults.
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
	testing.TB
	failed   bool
	printed  strings.Builder
	cleanups []func()
}

func (f *fakeTB) Helper()                   {}
func (f *fakeTB) Failed() bool              { return f.failed }
func (f *fakeTB) Cleanup(do func())         { f.cleanups = append(f.cleanups, do) }
func (f *fakeTB) Logf(s string, a ...any)   { fmt.Fprintf(&f.printed, s, a...) }
func (f *fakeTB) Errorf(s string, a ...any) { f.failed = true; f.Logf(s, a...) }
func (f *fakeTB) end() {
	for _, do := range f.cleanups {
		do()
	}
}

// TestFailurePrintsRequests checks that only a failed test prints its requests.
func TestFailurePrintsRequests(t *testing.T) {
	for _, failed := range []bool{false, true} {
		fake := &fakeTB{TB: t, failed: failed}
		table := queuelocktest.NewTable(fake)
		locktest.OK(t, put(t, table.Client("alice"), "order-7", "s"))
		fake.end()
		printed := fake.printed.String()
		if failed != strings.Contains(printed, "order-7") || !failed && printed != "" {
			t.Errorf("failed = %v, printed %q", failed, printed)
		}
	}
}

// TestEndOfTest checks that the end of the test drops the requests under way.
func TestEndOfTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeTB{TB: t}
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

// TestTableOutsideBubble checks that a table that was made outside a bubble works in it.
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
