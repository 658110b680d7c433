package acquire_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
	"github.com/queuelock/queuelock/wake"
)

// TestArgumentsOfNew checks that bad arguments of New are refused by an error that names them.
func TestArgumentsOfNew(t *testing.T) {
	table := queuelocktest.NewTable(t)
	db := table.Client("a")
	for _, c := range []struct {
		name string
		cfg  queuelock.Config
		says []string
	}{
		{"short TTL", queuelock.Config{TTL: 999 * time.Millisecond}, []string{"TTL is 999ms", "1s"}},
		{"endless TTL", queuelock.Config{TTL: 10000 * time.Hour}, []string{"TTL is 10000h", "168h"}},
		{"heartbeat of a whole TTL", queuelock.Config{TTL: 10 * time.Second, HeartbeatInterval: 10 * time.Second}, []string{"HeartbeatInterval 10s", "TTL 10s"}},
		{"negative heartbeat", queuelock.Config{HeartbeatInterval: -1}, []string{"HeartbeatInterval is -1ns", "10ms"}},
		{"short WaiterTTL", queuelock.Config{WaiterTTL: time.Millisecond}, []string{"WaiterTTL is 1ms", "1s"}},
		{"slow requests", queuelock.Config{TTL: 4 * time.Second, RequestTimeout: 2 * time.Second}, []string{"RequestTimeout 2s", "TTL 4s"}},
		{"slow requests of waiters", queuelock.Config{WaiterTTL: 2 * time.Second, RequestTimeout: time.Second}, []string{"RequestTimeout 1s", "WaiterTTL 2s"}},
		{"long owner", queuelock.Config{Owner: strings.Repeat("x", 300)}, []string{"Owner has 300 bytes", "256"}},
		{"escape in owner", queuelock.Config{Owner: "a\x1b[2J"}, []string{"Owner contains \"\\x1b\"", "only printable characters are possible"}},
		{"no UTF-8 in owner", queuelock.Config{Owner: "a\xff"}, []string{`Owner contains "\xff"`}},
		{"nil hints", queuelock.Config{Wake: (*wake.UDP)(nil)}, []string{"Wake is a nil *wake.UDP"}},
		{"same keys", queuelock.Config{Attributes: queuelock.Attributes{PartitionKey: "k", SortKey: "k"}}, []string{"sort key", `"k"`, "partition key"}},
		{"key of ours", queuelock.Config{Attributes: queuelock.Attributes{PartitionKey: "holders"}}, []string{"partition key", `"holders"`, "library's own"}},
		{"brackets in key", queuelock.Config{Attributes: queuelock.Attributes{PartitionKey: "a[0]"}}, []string{`partition key is named "a[0]"`, "without brackets"}},
		{"brackets in TTL attribute", queuelock.Config{Attributes: queuelock.Attributes{TTL: "a]"}}, []string{`TTL attribute is named "a]"`, "without brackets"}},
		{"no UTF-8 in key", queuelock.Config{Attributes: queuelock.Attributes{SortKey: "a\xff"}}, []string{`sort key is named "a\xff"`, "UTF-8"}},
		{"nil observer", queuelock.Config{Observer: (*listener)(nil)}, []string{"Observer is a nil *acquire_test.listener: leave it out"}},
		{"nil function as observer", queuelock.Config{Observer: event.Func(nil)}, []string{"Observer is a nil event.Func"}},
		{"short Forget", queuelock.Config{Forget: time.Hour}, []string{"Forget is 1h0m0s", "24h0m0s", "0 to keep"}},
		{"Forget of a wide scope", queuelock.Config{Forget: 24 * time.Hour, Scope: ticket.ScopeTable}, []string{"Forget is 24h0m0s", "ScopeQueue only"}},
		{"unknown scope", queuelock.Config{Scope: 7}, []string{"Scope is 7", "ScopeQueue, ScopeEntity and ScopeTable"}},
		{"TTL attribute of ours", queuelock.Config{Attributes: queuelock.Attributes{TTL: "until"}}, []string{"TTL attribute", `"until"`}},
		{"polls upside down", queuelock.Config{Poll: waitpolicy.Schedule{Fastest: time.Minute}}, []string{"Poll", "1m0s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := queuelock.New(db, table.Name(), c.cfg)
			locktest.Says(t, err, c.says...)
			locktest.Says(t, c.cfg.Validate(table.Name(), nil), c.says...)
		})
	}
	_, err := queuelock.New(nil, table.Name(), queuelock.Config{})
	locktest.Says(t, err, "DynamoDB client is nil")
	_, err = queuelock.New((*dynamodb.Client)(nil), table.Name(), queuelock.Config{})
	locktest.Says(t, err, "DynamoDB client is nil")
	locktest.Says(t, queuelock.CreateTable(t.Context(), nil, table.Name(), queuelock.Config{}), "DynamoDB client is nil")
	locktest.Says(t, queuelock.CreateTable(t.Context(), (*dynamodb.Client)(nil), table.Name(), queuelock.Config{}), "DynamoDB client is nil")
	_, err = queuelock.New(db, "", queuelock.Config{})
	locktest.Says(t, err, "table name is empty")
	_, err = queuelock.New(db, "x y", queuelock.Config{})
	locktest.Says(t, err, `queuelock: the table name is "x y": 3 to 255`)
	err = queuelock.CreateTable(t.Context(), db, "x y", queuelock.Config{})
	locktest.Says(t, err, `queuelock: create table: the table name is "x y": 3 to 255`)
	locktest.SentNothing(t, db)
}

// TestKeysAndWaits checks that bad keys and waits are refused without a request.
func TestKeysAndWaits(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		for _, b := range []struct {
			name string
			key  queuelock.Key
			wait waitpolicy.Wait
			opts []queuelock.AcquireOption
			says []string
		}{
			{"no entity", queuelock.Key{Reason: "r"}, waitpolicy.NoWait, nil, []string{"entity is empty"}},
			{"slash in reason", queuelock.Key{Entity: "e", Reason: "a/b"}, waitpolicy.NoWait, nil, []string{`"a/b"`, "slash"}},
			{"long entity", queuelock.Key{Entity: strings.Repeat("x", 2049)}, waitpolicy.NoWait, nil, []string{"2049 bytes", "2048"}},
			{"long reason", queuelock.Key{Entity: "e", Reason: strings.Repeat("x", 986)}, waitpolicy.NoWait, nil, []string{"986 bytes", "985", "1024"}},
			{"bytes in entity", queuelock.Key{Entity: "\xff"}, waitpolicy.NoWait, nil, []string{"UTF-8"}},
			{"bytes in reason", queuelock.Key{Entity: "e", Reason: "\xff"}, waitpolicy.NoWait, nil, []string{"UTF-8"}},
			{"negative wait", locktest.Order, waitpolicy.For(-time.Second), nil, []string{"-1s", "negative"}},
			{"no attempt", locktest.Order, waitpolicy.Attempts(0, time.Second), nil, []string{"one attempt or more"}},
			{"attempts without a pause", locktest.Order, waitpolicy.Attempts(3, 0), nil, []string{"at least 1ms"}},
			{"negative pause", locktest.Order, waitpolicy.Attempts(1, -time.Second), nil, []string{"-1s"}},
			{"short TTL", locktest.Order, waitpolicy.NoWait, []queuelock.AcquireOption{queuelock.WithTTL(time.Millisecond)}, []string{"TTL is 1ms"}},
		} {
			_, err := c.Acquire(t.Context(), b.key, b.wait, b.opts...)
			locktest.Says(t, err, b.says...)
			err = c.Do(t.Context(), b.key, b.wait, func(context.Context, *queuelock.Lock) error {
				t.Errorf("%s: Do called the function", b.name)
				return nil
			}, b.opts...)
			locktest.Says(t, err, b.says...)
			if b.wait == waitpolicy.NoWait {
				locktest.Says(t, queuelock.Config{}.Validate(table.Name(), b.key, b.opts...), b.says...)
			}
		}
		locktest.SentNothing(t, db)
		// The longest that are possible do work.
		for _, key := range []queuelock.Key{{Entity: strings.Repeat("x", 2048)}, {Entity: "e", Reason: strings.Repeat("ä", 492) + "x"}} {
			lock, err := c.Acquire(t.Context(), key, waitpolicy.NoWait)
			if err != nil {
				t.Fatalf("key of %d and %d bytes: %v", len(key.Entity), len(key.Reason), err)
			}
			locktest.Release(t, lock)
		}
	})
}

// TestValidate checks that Validate returns the errors of LockItem and of options, and starts nothing.
func TestValidate(t *testing.T) {
	item := queuelock.ItemKey{Table: "orders", Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "7"}}}
	hints := queuelock.Config{Wake: closedBells{}}
	for _, key := range []queuelock.AnyKey{nil, locktest.Order, item} {
		if err := hints.Validate("queuelock", key, queuelock.WithTTL(time.Hour)); err != nil {
			t.Errorf("%v: %v", key, err)
		}
	}
	locktest.Says(t, queuelock.Config{}.Validate("q", nil), "table name")
	locktest.Says(t, queuelock.Config{}.Validate("queuelock", locktest.Order, queuelock.CreateItem()), "CreateItem is for LockItem only")
	item.Key = map[string]types.AttributeValue{"my_holders": &types.AttributeValueMemberS{Value: "7"}}
	locktest.Says(t, queuelock.Config{ItemPrefix: "my_"}.Validate("queuelock", item), `"my_holders" is also the lock's`)
	item.Key = map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "7"}}
	for _, option := range []queuelock.AcquireOption{
		queuelock.Shared(), queuelock.Permits(2), queuelock.FailClosed(), queuelock.OnHandle(func(queuelock.Handle) {}),
	} {
		locktest.Says(t, queuelock.Config{}.Validate("queuelock", item, queuelock.CreateItem(), option), "option 2 of 2 is for Acquire")
		locktest.OK(t, queuelock.Config{}.Validate("queuelock", locktest.Order, option))
	}
	locktest.OK(t, queuelock.Config{}.Validate("queuelock", item, queuelock.CreateItem()))
}

// closedBells are bells that must not be used.
type closedBells struct{ wake.Bells }

// TestEmptyClient checks that the errors of an empty Client say how to make one.
func TestEmptyClient(t *testing.T) {
	c, ctx := &queuelock.Client{}, t.Context()
	_, acquired := c.Acquire(ctx, locktest.Order, waitpolicy.NoWait)
	_, all := c.AcquireAll(ctx, []queuelock.Key{locktest.Order}, waitpolicy.NoWait)
	_, resumed := c.Resume(ctx, queuelock.Handle{Key: locktest.Order, Ticket: ticket.FromUint64(1), ID: "x"}, waitpolicy.NoWait)
	_, item := c.LockItem(ctx, queuelock.ItemKey{}, waitpolicy.NoWait)
	_, inspected := c.Viewer().Inspect(ctx, locktest.Order)
	_, inspectedItem := c.Viewer().Inspect(ctx, queuelock.ItemKey{})
	_, locked := c.IsLocked(ctx, locktest.Order)
	_, swept := c.Operator().Sweep(ctx, locktest.Order)
	for what, err := range map[string]error{
		"Acquire": acquired, "AcquireAll": all, "Resume": resumed, "LockItem": item, "Inspect": inspected, "InspectItem": inspectedItem,
		"IsLocked": locked, "Sweep": swept, "Evict": c.Operator().Evict(ctx, locktest.Order, queue.Holder{}), "Close": c.Close(ctx),
		"ZeroOperator": queuelock.Operator{}.Evict(ctx, locktest.Order, queue.Holder{}),
		"Do":           c.Do(ctx, locktest.Order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error { return nil }),
	} {
		if err == nil || err.Error() != "queuelock: the Client is empty: New makes one" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestNilOption(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, nil, queuelock.Shared(), nil)
		if !lock.Shared() {
			t.Error("the option beside it was left out")
		}
		locktest.Release(t, lock)
		u, key, _ := locktest.NewOrder(t, table)
		locktest.Release(t, locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait, nil))
	})
}

// A listener is an Observer.
type listener struct{ heard int }

func (d *listener) Observe(event.Event) { d.heard++ }

// TestOwnerOfOneLock checks that WithOwner changes one lock, that an empty one is that of the client, and that it
// refuses what Config.Owner refuses, without a request.
func TestOwnerOfOneLock(t *testing.T) {
	table := queuelocktest.NewTable(t)
	other, _ := locktest.Open(t, table, "other", queuelock.Config{Owner: "web-1"})
	for given, want := range map[string]string{"": "web-1", "batch": "batch"} {
		lock := locktest.Acquire(t, other, waitpolicy.NoWait, queuelock.WithOwner(given))
		if owner := locktest.Shown(t, other, lock.Ticket()).Owner; owner != want {
			t.Errorf("the owner is %q, want %q", owner, want)
		}
		locktest.Release(t, lock)
	}
	c, db := locktest.Open(t, table, "c", queuelock.Config{})
	_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.WithOwner("a\r\nb"))
	locktest.Says(t, err, `Owner contains "\r"`)
	locktest.SentNothing(t, db)
}

// TestForeignText checks that errors quote what other programs have written.
func TestForeignText(t *testing.T) {
	const evil = "\x1b]0;x\a\nERROR \u202e"
	holder := queue.Holder{Owner: evil, Ticket: ticket.FromUint64(7)}
	other := queue.Holder{Owner: "b" + evil, Ticket: ticket.FromUint64(8)}
	malformed := &queue.MalformedError{Item: "serving record", Attribute: "holders." + evil, Problem: "is a string, a map is needed"}
	for name, err := range map[string]error{
		"NotAcquired": &queuelock.NotAcquiredError{Key: locktest.Order, Serving: &holder, Blocked: malformed},
		"Renewed":     &sweeper.EvictError{Holder: holder, Serving: []queue.Holder{holder, other}},
		"Gone":        &sweeper.EvictError{Holder: queue.Holder{ID: "c"}, Serving: []queue.Holder{holder, other}},
		"Malformed":   malformed,
	} {
		text := err.Error()
		if strings.ContainsAny(text, "\x1b\a\n\u202e") || !strings.Contains(text, `\x1b]0;x\a\nERROR \u202e`) {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// TestHeartbeatOfTTL checks the one rule for HeartbeatInterval with WithTTL, also at the TTL that the client has.
func TestHeartbeatOfTTL(t *testing.T) {
	for name, test := range map[string]struct{ given, ttl, want time.Duration }{
		"KeptAtEqualTTL":    {5 * time.Second, time.Minute, 5 * time.Second},
		"KeptAtLongerTTL":   {5 * time.Second, 61 * time.Second, 5 * time.Second},
		"HalfOfShorterTTL":  {20 * time.Second, 30 * time.Second, 15 * time.Second},
		"HalfAtMost":        {40 * time.Second, time.Minute, 30 * time.Second},
		"HalfIfUnset":       {0, 4 * time.Minute, 2 * time.Minute},
		"HalfIfUnsetAtSame": {0, time.Minute, 30 * time.Second},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, _ := locktest.Open(t, table, "a", queuelock.Config{HeartbeatInterval: test.given})
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait)) // DynamoDB's time is known from here
			lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.WithTTL(test.ttl))
			time.Sleep(5*test.want + test.want/4)
			if h := locktest.Shown(t, c, lock.Ticket()); h.Beat != 5 || h.TTL != test.ttl {
				t.Errorf("%d renewals of a lease of %v in five intervals of %v", h.Beat, h.TTL, test.want)
			}
			locktest.Release(t, lock)
		})
	}
}
