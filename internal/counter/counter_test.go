package counter_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

func TestMain(m *testing.M) {
	locktest.SmallTickets()
	goleak.VerifyTestMain(m)
}

const timeout = 5 * time.Second

// newCounter returns the counter of one queue as one client sees it.
func newCounter(tb *queuelocktest.Table, name string) counter.Counter {
	layout := table.Layout{Table: tb.Name(), PK: "pk", SK: "sk", TTL: "expiresAt"}
	q := table.NewStore(tb.Client(name), layout, timeout).Queue("e", "lock", nil)
	return counter.Counter{Store: q.Store, Key: q.RecordKey(), What: "counter of e", Master: ticket.Master{Names: q.Names(), Attribute: queue.AttrTicketNumber}}
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
	if _, err := tb.Client("given").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
		t.Fatal(err)
	}
}

func number(t testing.TB, item clause.Item) ticket.Number {
	t.Helper()
	r := clause.Reader{Item: item}
	n := ticket.Read(&r, queue.AttrTicketNumber)
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
	_, err := other.Take(t.Context(), ticket.Rider{Do: func(last clause.Operand) []clause.Change {
		return []clause.Change{clause.At("from").Set(clause.At("from").Or(last))}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tb.Client("operator").DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: new(tb.Name()), Key: other.Key}); err != nil {
		t.Fatal(err)
	}
	return c
}

// seeds narrows a fault to requests that seed a counter of newSeeding.
func seeds(f queuelocktest.Fault) queuelocktest.Fault {
	return f.Of("UpdateItem").Mentioning("attribute_not_exists")
}

// TestFirstUse checks that the first use creates the counter with one request.
func TestFirstUse(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	m := newCounter(tb, "alice")
	rider := with("extra", clause.String("seeded"))
	item, err := m.Take(t.Context(), rider)
	if err != nil {
		t.Fatal(err)
	}
	want := clause.Item{"extra": clause.String("seeded"), "ticketNumber": clause.Int(1)}
	for name, value := range m.Key {
		want[name] = value
	}
	if diff := cmp.Diff(want, item, ignoreUnexported); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]clause.Item{want}, tb.Items(), ignoreUnexported); diff != "" {
		t.Errorf("the counter in the table (-want +got):\n%s", diff)
	}
	wantCost := queuelocktest.Counts{
		"UpdateItem": {Sent: 1, Applied: 1, WriteUnits: 1},
	}
	if diff := tb.Counts().Sub(wantCost); len(diff) != 0 {
		t.Errorf("more than one request:\n%s", tb.Counts())
	}
	before := tb.Counts()
	if item, err = m.Take(t.Context(), rider); err != nil || number(t, item) != ticket.FromUint64(2) {
		t.Errorf("the second ticket is %v, %v", item, err)
	}
	if cost := tb.Counts().Sub(before).Total(); cost.Sent != 1 {
		t.Errorf("the second ticket took %d requests", cost.Sent)
	}
}

// ignoreUnexported lets cmp look into the SDK's attribute values.
var ignoreUnexported = cmp.FilterPath(func(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && field.Name() == "noSmithyDocumentSerde"
}, cmp.Ignore())

// TestConcurrentTake checks that concurrent calls of Take get each number once.
func TestConcurrentTake(t *testing.T) {
	const takers, each = 8, 25
	tb := queuelocktest.NewTable(t)
	var mu sync.Mutex
	got := map[ticket.Number]int{}
	var wg sync.WaitGroup
	for range takers {
		m := newCounter(tb, "taker")
		wg.Go(func() {
			var last ticket.Number
			for taken := 0; taken < each; {
				item, err := m.Take(t.Context(), ticket.Rider{})
				if errors.Is(err, ticket.ErrSeeded) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				taken++
				n := number(t, item)
				if !last.Less(n) {
					t.Errorf("%v was issued after %v", n, last)
				}
				last = n
				mu.Lock()
				got[n]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for n := uint64(1); n <= takers*each; n++ {
		if got[ticket.FromUint64(n)] != 1 {
			t.Errorf("ticket %d was issued %d times", n, got[ticket.FromUint64(n)])
		}
	}
	if len(got) != takers*each {
		t.Errorf("%d numbers were issued, want %d", len(got), takers*each)
	}
}

// TestConcurrentSeed checks that of two callers that find no counter one seeds it.
func TestConcurrentSeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := queuelocktest.NewTable(t, locktest.WithoutNesting())
		a, b := newSeeding(t, tb, "alice"), newSeeding(t, tb, "bob")
		gate := tb.Inject(seeds(queuelocktest.HoldRequest()))
		type result struct {
			item clause.Item
			err  error
		}
		results := make(chan result, 2)
		for who, m := range map[string]counter.Counter{"alice": a, "bob": b} {
			go func() {
				item, err := m.Take(t.Context(), with("who", clause.String(who)))
				results <- result{item, err}
			}()
		}
		synctest.Wait() // both are at the gate
		if gate.Fired() != 2 {
			t.Fatalf("%d seeds are held, want 2", gate.Fired())
		}
		gate.Release()
		x, y := <-results, <-results
		if x.err != nil {
			x, y = y, x
		}
		if x.err != nil || number(t, x.item) != ticket.FromUint64(1) {
			t.Errorf("the seed that came first gave %v, %v", x.item, x.err)
		}
		if !errors.Is(y.err, ticket.ErrSeeded) || counter.MayHaveTaken(y.err) {
			t.Errorf("the seed that came second gave %v, want ErrSeeded, and nothing taken", y.err)
		}
		if diff := cmp.Diff(x.item, y.item, ignoreUnexported); diff != "" {
			t.Errorf("the item in the way was not returned:\n%s", diff)
		}
		if diff := cmp.Diff([]clause.Item{x.item}, tb.Items(), ignoreUnexported); diff != "" {
			t.Errorf("the first seed is not in the table (-want +got):\n%s", diff)
		}
		if item, err := b.Take(t.Context(), ticket.Rider{}); err != nil || number(t, item) != ticket.FromUint64(2) {
			t.Errorf("taking again gave %v, %v, want ticket 2", item, err)
		}
	})
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
		{"access denied", queuelocktest.Refuse(queuelocktest.AccessDenied), 0, false},
	} {
		for _, operation := range []string{"increment", "seed"} {
			t.Run(test.name+" of "+operation, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tb := queuelocktest.NewTable(t, locktest.WithoutNesting())
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
				})
			})
		}
	}
}

// TestMalformedCounter checks that an item that is not a counter is never written.
func TestMalformedCounter(t *testing.T) {
	for name, attributes := range map[string]clause.Item{
		"ticketNumber missing":    {"other": clause.String("precious")},
		"ticketNumber a string":   {"ticketNumber": clause.String("7")},
		"ticketNumber a map":      {"ticketNumber": clause.Map(clause.Item{})},
		"ticketNumber null":       {"ticketNumber": &types.AttributeValueMemberNULL{Value: true}},
		"ticketNumber above Max":  {"ticketNumber": &types.AttributeValueMemberN{Value: "1E+38"}},
		"ticketNumber a huge one": {"ticketNumber": &types.AttributeValueMemberN{Value: "1E+125"}},
		"exhausted":               {"ticketNumber": ticket.Max.Attribute()},
	} {
		t.Run(name, func(t *testing.T) {
			tb := queuelocktest.NewTable(t)
			given(t, tb, attributes)
			before := tb.Items()
			m := newCounter(tb, "alice")
			item, err := m.Take(t.Context(), with("mine", clause.String("1")))
			malformed, isMalformed := errors.AsType[*clause.MalformedError](err)
			switch {
			case name == "exhausted":
				if !errors.Is(err, ticket.ErrExhausted) || counter.MayHaveTaken(err) {
					t.Errorf("got %v, %v, want ErrExhausted", item, err)
				}
			case !isMalformed:
				t.Errorf("got %v, %v, want a MalformedError", item, err)
			case malformed.Item != m.What || malformed.Attribute != "ticketNumber":
				t.Errorf("the error names neither item nor attribute: %v", err)
			}
			if diff := cmp.Diff(before, tb.Items(), ignoreUnexported); diff != "" {
				t.Errorf("the item was written to (-before +after):\n%s", diff)
			}
		})
	}
}

// TestLastNumber checks that the last number is issued once, and no number after it.
func TestLastNumber(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	given(t, tb, clause.Item{"ticketNumber": ticket.Max.Previous().Attribute()})
	m := newCounter(tb, "alice")
	item, err := m.Take(t.Context(), ticket.Rider{})
	if err != nil || number(t, item) != ticket.Max {
		t.Fatalf("got %v, %v, want the last number", item, err)
	}
	before := tb.Items()
	if item, err := m.Take(t.Context(), ticket.Rider{}); !errors.Is(err, ticket.ErrExhausted) {
		t.Errorf("after the last number came %v, %v", item, err)
	}
	if diff := cmp.Diff(before, tb.Items(), ignoreUnexported); diff != "" {
		t.Errorf("an exhausted counter was written to:\n%s", diff)
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
	if diff := cmp.Diff(before, tb.Items(), ignoreUnexported); diff != "" {
		t.Errorf("the item was written to (-before +after):\n%s", diff)
	}
}

// TestRider checks that a rider is written together with the increment or not at all.
func TestRider(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	given(t, tb, clause.Item{"ticketNumber": clause.Int(5)})
	m := newCounter(tb, "alice")
	rider := with("busy", clause.Int(1))
	rider.If = []clause.Cond{clause.At("busy").Absent()}
	item, err := m.Take(t.Context(), rider)
	if err != nil || number(t, item) != ticket.FromUint64(6) {
		t.Fatalf("got %v, %v, want ticket 6", item, err)
	}
	if _, ok := item["busy"]; !ok {
		t.Error("the rider did not go with it")
	}
	item, err = m.Take(t.Context(), rider)
	if !errors.Is(err, ticket.ErrRefused) || number(t, item) != ticket.FromUint64(6) {
		t.Errorf("a refused rider gave %v, %v, want ErrRefused with the item", item, err)
	}
	if counter.MayHaveTaken(err) || number(t, tb.Items()[0]) != ticket.FromUint64(6) {
		t.Errorf("a refused rider burnt a number: %v", tb.Items())
	}
}
