package counter_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

func TestMain(m *testing.M) {
	locktest.SmallTickets()
	os.Exit(m.Run())
}

const timeout = 5 * time.Second

// newCounter returns the counter of one queue as one client sees it.
func newCounter(tb *queuelocktest.Table, name string) counter.Counter {
	layout := table.Layout{Table: tb.Name(), PK: "pk", SK: "sk", TTL: "expiresAt"}
	q := table.NewStore(tb.Client(name), layout, timeout).Queue("e", "lock", nil)
	return counter.Counter{Store: q.Store, Key: q.RecordKey(), What: "counter of e", Master: ticket.Master{Names: q.Names(), Attribute: attr.TicketNumber}}
}

// given writes the counter's item, with these attributes and nothing else.
func given(t *testing.T, tb *queuelocktest.Table, attributes clause.Item) {
	t.Helper()
	item := clause.Item{}
	for name, value := range newCounter(tb, "given").Key {
		item[name] = value
	}
	for name, value := range attributes {
		item[name] = value
	}
	name := tb.Name()
	locktest.Must(tb.Client("given").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}))
}

func number(t testing.TB, item clause.Item) ticket.Number {
	t.Helper()
	r := clause.Reader{Item: item}
	n := ticket.Read(&r, attr.TicketNumber)
	if r.Err != nil {
		t.Error(r.Err)
	}
	return n
}

// with returns a rider that sets an attribute.
func with(name string, value clause.Value) ticket.Rider {
	return ticket.Rider{Do: func(clause.Operand) []clause.Change { return []clause.Change{clause.At(name).Set(clause.V(value))} }}
}

// newSeeding returns newCounter of an engine made by locktest.WithoutNesting, once the client knows that it
// refuses functions within functions.
func newSeeding(t *testing.T, tb *queuelocktest.Table, name string) counter.Counter {
	t.Helper()
	c := newCounter(tb, name)
	other := c
	other.Key = clause.Item{"pk": clause.String("other"), "sk": clause.String(name)}
	locktest.Must(other.Take(t.Context(), ticket.Rider{Do: func(last clause.Operand) []clause.Change {
		return []clause.Change{clause.At("from").Set(clause.At("from").Or(last))}
	}}))
	locktest.Must(tb.Client("operator").DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: new(tb.Name()), Key: other.Key}))
	return c
}

// seeds narrows a fault to requests that seed a counter of newSeeding.
func seeds(f queuelocktest.Fault) queuelocktest.Fault {
	return f.Of("UpdateItem").Mentioning("attribute_not_exists")
}

// TestTakeOnce checks that Take sends its request once. A retry by the SDK would issue a
// second number to one caller.
func TestTakeOnce(t *testing.T) {
	for _, test := range []struct {
		name    string
		fault   queuelocktest.Fault
		applied int
		may     bool
	}{
		{"answer lost", queuelocktest.LoseResponse(), 1, true},
		{"request lost", queuelocktest.LoseRequest(), 0, true},
		{"answer never comes", queuelocktest.SwallowResponse(), 1, true},
		{"internal error", queuelocktest.Refuse(queuelocktest.InternalError), 0, true},
		{"throttled", queuelocktest.Refuse(queuelocktest.Throttling), 0, true},
		{"throughput exceeded", queuelocktest.Refuse(queuelocktest.ThroughputExceeded), 0, true},
		{"transaction conflict", queuelocktest.Refuse(queuelocktest.TransactionConflict), 0, true},
		{"access denied", queuelocktest.Refuse(queuelocktest.AccessDenied), 0, true}, // after an answer: perhaps to a copy
	} {
		for _, operation := range []string{"increment", "seed"} {
			locktest.InTable(t, test.name+" of "+operation, func(t *testing.T, tb *queuelocktest.Table) {
				c := newSeeding(t, tb, "alice")
				base, fault, want := uint64(0), seeds(test.fault), 2
				if operation == "increment" {
					given(t, tb, clause.Item{"ticketNumber": clause.Int(41)})
					base, fault, want = 41, test.fault, 1
				}
				tb.Inject(fault)
				before := tb.Counts()
				item, err := c.Take(t.Context(), ticket.Rider{})
				if err == nil {
					t.Fatalf("got %v without an error", item)
				}
				if got := counter.MayHaveTaken(err); got != test.may {
					t.Errorf("MayHaveTaken(%v) is %v, want %v", err, got, test.may)
				}
				if sent := tb.Counts().Sub(before).Total().Sent; sent != want {
					t.Errorf("%d requests were sent, want %d", sent, want)
				}
				var stands ticket.Number
				for _, item := range tb.Items() {
					stands = number(t, item)
				}
				if want := ticket.FromUint64(base + uint64(test.applied)); stands != want {
					t.Errorf("the counter is at %v, want %v", stands, want)
				}
			}, locktest.WithoutNesting())
		}
	}
}

// silent is an SDK client of an engine that returns no item with a refusal.
type silent struct{ *queuelocktest.Client }

func (s silent) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnValuesOnConditionCheckFailure = ""
	return s.Client.UpdateItem(ctx, in, opts...)
}

// TestSilentRefusal checks that an engine that returns no item with a refusal gets an error that says so. Its counter
// would otherwise be seeded again without end.
func TestSilentRefusal(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	given(t, tb, clause.Item{"ticketNumber": clause.Int(5)})
	before := tb.Items()
	m := newCounter(tb, "alice")
	m.Store = table.NewStore(silent{tb.Client("bob")}, m.Store.Layout(), timeout)
	rider := with("mine", clause.Int(1))
	rider.If = []clause.Cond{clause.At("busy").Exists()}
	item, err := m.Take(t.Context(), rider)
	if err == nil || !strings.Contains(err.Error(), "since June 2023") || errors.Is(err, ticket.ErrSeeded) || counter.MayHaveTaken(err) {
		t.Errorf("got %v, %v", item, err)
	}
	if after := tb.Items(); !reflect.DeepEqual(after, before) {
		t.Errorf("the item was written to: %s", locktest.PlainItem(after[0]))
	}
}

// TestBase checks where the numbers of a new counter begin: at DynamoDB's time, in ten
// thousandths of a second since 2026, but never later than it is.
func TestBase(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		options []queuelocktest.Option
		at      time.Time
		low, to uint64 // of the first number
	}{
		"before the epoch":    {nil, epoch.Add(-time.Hour), 1, 1},
		"an hour later":       {nil, epoch.Add(time.Hour), 3598 * 10_000, 3600*10_000 + 1},
		"without dates":       {[]queuelocktest.Option{queuelocktest.WithoutDate()}, epoch.Add(time.Hour), 3600 * 10_000, 3600*10_000 + 1},
		"after two centuries": {nil, epoch.AddDate(200, 0, 0), 6e13, 1 << 53},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			small := counter.Base
			counter.Base = ticket.Base
			defer func() { counter.Base = small }()
			time.Sleep(time.Until(test.at))
			tb := queuelocktest.NewTable(t, test.options...)
			c := newCounter(tb, "alice")
			locktest.Must(c.Store.Get(t.Context(), c.Key))
			first, err := c.Next(t.Context())
			if err != nil || first.Less(ticket.FromUint64(test.low)) || ticket.FromUint64(test.to).Less(first) {
				t.Fatalf("%s, %v, want %d to %d", first, err, test.low, test.to)
			}
			if next, err := c.Next(t.Context()); err != nil || next.After(first) != 1 {
				t.Errorf("%s, %v follows %s", next, err, first)
			}
			time.Sleep(5 * time.Second)
			locktest.Must(tb.Client("operator").DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: new(tb.Name()), Key: c.Key}))
			bob := newCounter(tb, "bob")
			locktest.Must(bob.Store.Get(t.Context(), bob.Key))
			again, err := bob.Next(t.Context())
			if err != nil || test.low > 1 && again.After(first) < 2 {
				t.Errorf("%s, %v follows %s after a deletion", again, err, first)
			}
			// A counter that an older version began is raised above the new records, and none further.
			if err := c.Raise(t.Context(), ticket.FromUint64(1), again); errors.Is(err, counter.ErrFar) {
				t.Error(err)
			}
		})
	}
}

// TestRaise checks that a counter is raised and never lowered.
func TestRaise(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	m := newCounter(tb, "client")
	raise := func(to uint64) {
		t.Helper()
		locktest.Check(t, m.Raise(t.Context(), ticket.FromUint64(1), ticket.FromUint64(to)))
	}
	next := func(want uint64) {
		t.Helper()
		if got, err := m.Next(t.Context()); err != nil || got != ticket.FromUint64(want) {
			t.Errorf("%s, %v, want %d", got, err, want)
		}
	}
	raise(5) // there is none
	next(1)
	raise(9)
	next(10)
	raise(10)
	raise(3)
	next(11)

	for _, far := range []ticket.Number{ticket.Max, ticket.FromUint64(12 + counter.MaxRaise)} {
		locktest.Is(t, m.Raise(t.Context(), ticket.FromUint64(11), far), counter.ErrFar)
	}
	next(12)
	raise(1 + counter.MaxRaise)
	next(2 + counter.MaxRaise)
	locktest.Check(t, m.Raise(t.Context(), ticket.Max.Previous(), ticket.Max))
	if _, err := m.Next(t.Context()); !errors.Is(err, ticket.ErrExhausted) {
		t.Errorf("after the last number: %v", err)
	}
	given(t, tb, clause.Item{"ticketNumber": &types.AttributeValueMemberS{Value: "1"}})
	raise(20) // left alone
	if _, err := m.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "ticketNumber") {
		t.Errorf("of an item that is no counter: %v", err)
	}
}
