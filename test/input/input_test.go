package input_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/attr"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestBadArgumentsOfNewAreRefusedByName(t *testing.T) {
	table := queuelocktest.NewTable(t)
	db := table.Client("a")
	for _, c := range []struct {
		name string
		cfg  queuelock.Config
		says []string
	}{
		{"short TTL", queuelock.Config{TTL: 999 * time.Millisecond}, []string{"TTL is 999ms", "1s"}},
		{"negative TTL", queuelock.Config{TTL: -time.Second}, []string{"TTL is -1s"}},
		{"endless TTL", queuelock.Config{TTL: 10000 * time.Hour}, []string{"TTL is 10000h", "168h"}},
		{"heartbeat of a whole TTL", queuelock.Config{TTL: 10 * time.Second, HeartbeatInterval: 10 * time.Second}, []string{"HeartbeatInterval 10s", "TTL 10s"}},
		{"heartbeat longer than TTL", queuelock.Config{HeartbeatInterval: 2 * time.Minute}, []string{"HeartbeatInterval 2m0s", "TTL 1m0s"}},
		{"negative heartbeat", queuelock.Config{HeartbeatInterval: -1}, []string{"HeartbeatInterval is -1ns", "10ms"}},
		{"short WaiterTTL", queuelock.Config{WaiterTTL: time.Millisecond}, []string{"WaiterTTL is 1ms", "1s"}},
		{"slow requests", queuelock.Config{TTL: 4 * time.Second, RequestTimeout: 2 * time.Second}, []string{"RequestTimeout 2s", "TTL 4s"}},
		{"slow requests of waiters", queuelock.Config{WaiterTTL: 2 * time.Second, RequestTimeout: time.Second}, []string{"RequestTimeout 1s", "WaiterTTL 2s"}},
		{"long owner", queuelock.Config{Owner: strings.Repeat("x", 300)}, []string{"Owner has 300 bytes", "256"}},
		{"same keys", queuelock.Config{PartitionKey: "k", SortKey: "k"}, []string{"sort key", `"k"`, "partition key"}},
		{"key of ours", queuelock.Config{PartitionKey: "holders"}, []string{"partition key", `"holders"`, "library's own"}},
		{"TTL attribute of ours", queuelock.Config{TTLAttribute: "until"}, []string{"TTL attribute", `"until"`}},
		{"polls upside down", queuelock.Config{Poll: waitpolicy.Schedule{Fastest: time.Minute}}, []string{"Poll", "1m0s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := queuelock.New(db, table.Name(), c.cfg)
			locktest.Says(t, err, c.says...)
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
	if n := db.Counts().Total().Sent; n != 0 {
		t.Errorf("New sent %d requests", n)
	}
}

func TestBadKeysAndWaitsAreRefusedWithoutARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		for _, b := range []struct {
			name string
			key  queuelock.Key
			wait waitpolicy.Wait
			opts []queuelock.Option
			says []string
		}{
			{"no entity", queuelock.Key{Reason: "r"}, waitpolicy.NoWait, nil, []string{"entity is empty"}},
			{"slash in reason", queuelock.Key{Entity: "e", Reason: "a/b"}, waitpolicy.NoWait, nil, []string{`"a/b"`, "slash"}},
			{"long entity", queuelock.Key{Entity: strings.Repeat("x", 2049)}, waitpolicy.NoWait, nil, []string{"2049 bytes", "2048"}},
			{"long reason", queuelock.Key{Entity: "e", Reason: strings.Repeat("x", 986)}, waitpolicy.NoWait, nil, []string{"986 bytes", "985", "1024"}},
			{"bytes in entity", queuelock.Key{Entity: "\xff"}, waitpolicy.NoWait, nil, []string{"UTF-8"}},
			{"bytes in reason", queuelock.Key{Entity: "e", Reason: "\xff"}, waitpolicy.NoWait, nil, []string{"UTF-8"}},
			{"negative wait", locktest.Order, waitpolicy.For(-time.Second), nil, []string{"-1s", "negative"}},
			{"short TTL", locktest.Order, waitpolicy.NoWait, []queuelock.Option{queuelock.WithTTL(time.Millisecond)}, []string{"TTL is 1ms"}},
		} {
			_, err := c.Acquire(t.Context(), b.key, b.wait, b.opts...)
			locktest.Says(t, err, b.says...)
			err = c.Do(t.Context(), b.key, b.wait, func(context.Context, *queuelock.Lock) error {
				t.Errorf("%s: Do called the function", b.name)
				return nil
			}, b.opts...)
			locktest.Says(t, err, b.says...)
		}
		if n := db.Counts().Total().Sent; n != 0 {
			t.Errorf("%d requests were sent for bad arguments", n)
		}
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

func createTable(t *testing.T, db *queuelocktest.Client, keys ...types.KeySchemaElement) {
	t.Helper()
	var defined []types.AttributeDefinition
	for _, k := range keys {
		kind := types.ScalarAttributeTypeS
		if strings.HasPrefix(*k.AttributeName, "number") {
			kind = types.ScalarAttributeTypeN
		}
		defined = append(defined, types.AttributeDefinition{AttributeName: k.AttributeName, AttributeType: kind})
	}
	if _, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("queuelock"), BillingMode: types.BillingModePayPerRequest, KeySchema: keys, AttributeDefinitions: defined,
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAWrongTableIsNamedWithWhatWasFoundAndWhatIsNeeded(t *testing.T) {
	hash := func(name string) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyTypeHash}
	}
	sortKey := func(name string) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyTypeRange}
	}
	need := `partition key "pk" (S) and sort key "sk" (S)`
	for _, c := range []struct {
		name string
		keys []types.KeySchemaElement
		says []string
	}{
		{"missing", nil, []string{"no such table", need}},
		{"other keys", []types.KeySchemaElement{hash("id"), sortKey("range")}, []string{`partition key "id" (S) and sort key "range" (S)`, need}},
		{"no sort key", []types.KeySchemaElement{hash("pk")}, []string{`partition key "pk" (S) and no sort key`, need}},
		{"other types", []types.KeySchemaElement{hash("pk"), sortKey("number")}, []string{`sort key "number" (N)`, need}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithoutTable())
				client, db := locktest.Open(t, table, "a", queuelock.Config{})
				if c.keys != nil {
					createTable(t, db, c.keys...)
				}
				calls := map[string]func() error{
					"Acquire": func() error { _, err := client.Acquire(t.Context(), locktest.Order, waitpolicy.Forever); return err },
					"NoWait":  func() error { _, err := client.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); return err },
					"Inspect": func() error { _, err := client.Inspect(t.Context(), locktest.Order); return err },
				}
				if c.keys != nil {
					calls["CreateTable"] = func() error {
						return queuelock.CreateTable(t.Context(), db, table.Name(), queuelock.Config{})
					}
				}
				for name, call := range calls {
					err := call()
					locktest.Says(t, err, append(c.says, `"queuelock"`)...)
					if _, ok := errors.AsType[*queuelock.TableError](err); !ok {
						t.Errorf("%s: %v is no TableError", name, err)
					}
				}
			})
		})
	}
}

func TestCreateTableMakesWhatAcquireNeedsAndIsIdempotent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := queuelock.Config{PartitionKey: "entity", SortKey: "place", TTLAttribute: "dropAt"}
		table := queuelocktest.NewTable(t, queuelocktest.WithoutTable())
		c, db := locktest.Open(t, table, "a", cfg)
		results := make(chan error, 4)
		for range cap(results) {
			go func() { results <- queuelock.CreateTable(t.Context(), db, table.Name(), cfg) }()
		}
		for range cap(results) {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
		if err != nil {
			t.Fatal(err)
		}
		locktest.Release(t, lock)
		described, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(table.Name())})
		if err != nil || described.Table.BillingModeSummary == nil || described.Table.BillingModeSummary.BillingMode != types.BillingModePayPerRequest {
			t.Errorf("the table is not on demand: %+v, %v", described, err)
		}
		ttl, err := db.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(table.Name())})
		if err != nil || ttl.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusEnabled || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != "dropAt" {
			t.Errorf("TTL: %+v, %v", ttl.TimeToLiveDescription, err)
		}
		cfg.TTLAttribute = "other"
		locktest.Says(t, queuelock.CreateTable(t.Context(), db, table.Name(), cfg), `"dropAt"`, `"other"`)
	})
}

func TestMissingCredentialsOrRegionSayWhatToDo(t *testing.T) {
	for name, options := range map[string]dynamodb.Options{
		"Region": {Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), HTTPClient: noNetwork{}},
		"credentials": {Region: "eu-west-1", HTTPClient: noNetwork{}, Credentials: aws.CredentialsProviderFunc(
			func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{}, errors.New("no credentials are configured")
			})},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := queuelock.New(dynamodb.New(options), "queuelock", queuelock.Config{})
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			_, err = c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
			locktest.Says(t, err, name, `"order-7"`)
			if errors.Is(err, queuelock.ErrNotAcquired) || time.Since(begun) > 5*time.Second {
				t.Errorf("%v after %v: want it at once, as an error of the service", err, time.Since(begun))
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// noNetwork fails a test that gets as far as the network.
type noNetwork struct{}

func (noNetwork) Do(*http.Request) (*http.Response, error) {
	return nil, errors.New("the request got as far as the network")
}

// The table holds what some other program wrote: never a panic, never served,
// and nothing of it is lost.
func TestAMalformedRecordIsAnErrorThatNamesItAndIsLeftAlone(t *testing.T) {
	s := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	n := func(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }
	m := func(v map[string]types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: v}
	}
	entry := func(name string, v types.AttributeValue) map[string]types.AttributeValue {
		e := map[string]types.AttributeValue{"beat": n("0"), "ttl": n("10000"), "owner": s("somebody")}
		if e[name] = v; v == nil {
			delete(e, name)
		}
		return map[string]types.AttributeValue{
			"ticketNumber": n("1"), "granted": n("0"), "servingAfter": n("0"), "holders": m(map[string]types.AttributeValue{"h": m(e)}),
		}
	}
	for _, c := range []struct {
		name string
		item map[string]types.AttributeValue
		says []string
	}{
		{"other item", map[string]types.AttributeValue{"name": s("a customer")}, []string{"ticketNumber", "missing"}},
		{"text counter", map[string]types.AttributeValue{"ticketNumber": s("7")}, []string{"ticketNumber", "a string", "number"}},
		{"negative counter", map[string]types.AttributeValue{"ticketNumber": n("-1")}, []string{"ticketNumber", "-1"}},
		{"broken counter", map[string]types.AttributeValue{"ticketNumber": n("1.5")}, []string{"whole number"}},
		{"text holders", map[string]types.AttributeValue{"ticketNumber": n("1"), "granted": n("0"), "servingAfter": n("0"), "holders": s("me")}, []string{"holders", "a string"}},
		{"holders alone", map[string]types.AttributeValue{"ticketNumber": n("1"), "holders": m(map[string]types.AttributeValue{})}, []string{"holders", "servingAfter"}},
		{"servingAfter alone", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("5"), "servingAfter": n("1")}, []string{"holders", "servingAfter"}},
		{"granted above the counter", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("7")}, []string{"granted", "7", "5"}},
		{"text granted", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": s("5")}, []string{"granted", "a string"}},
		{"no granted", map[string]types.AttributeValue{"ticketNumber": n("5"), "servingAfter": n("1"), "holders": m(map[string]types.AttributeValue{})}, []string{"granted", "missing"}},
		{"servingAfter above the counter", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("1"), "servingAfter": n("5"), "holders": m(map[string]types.AttributeValue{})}, []string{"servingAfter", "5"}},
		{"negative granted", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("-1")}, []string{"granted", "-1"}},
		{"negative servingAfter", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("1"), "servingAfter": n("-1"), "holders": m(map[string]types.AttributeValue{})}, []string{"servingAfter", "-1"}},
		{"odd holdMode", attr.With(entry("beat", n("0")), attr.Item{"holdMode": s("Shared")}), []string{"holdMode", "Shared"}},
		{"empty holdMode", attr.With(entry("beat", n("0")), attr.Item{"holdMode": s("")}), []string{"holdMode"}},
		{"holdMode of a number", attr.With(entry("beat", n("0")), attr.Item{"holdMode": n("1")}), []string{"holdMode", "a number"}},
		{"odd holdMode of an idle queue", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("5"), "holdMode": s("x")}, []string{"holdMode", "x"}},
		{"permits of text", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("5"), "permits": s("3")}, []string{"permits", "a string"}},
		{"no permits", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("5"), "permits": n("0")}, []string{"permits", "0"}},
		{"odd scope", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("5"), "scope": s("world")}, []string{"scope", "world"}},
		{"text holder", map[string]types.AttributeValue{"ticketNumber": n("1"), "granted": n("0"), "servingAfter": n("0"), "holders": m(map[string]types.AttributeValue{"h": s("me")})}, []string{"holders.h", "a string"}},
		{"holder without beat", entry("beat", nil), []string{"holders.h.beat", "missing"}},
		{"holder with text ttl", entry("ttl", s("long")), []string{"holders.h.ttl", "a string"}},
		{"holder with endless ttl", entry("ttl", n("99999999999999")), []string{"holders.h.ttl", "99999999999999"}},
		{"holder with odd ticket", entry("ticket", n("0.5")), []string{"holders.h.ticket", "0.5"}},
	} {
		for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
			for engine, opts := range map[string][]queuelocktest.Option{"": nil, " older engine": {queuelocktest.WithoutFailedItem()}} {
				t.Run(c.name+" "+wait.String()+engine, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						table := queuelocktest.NewTable(t, opts...)
						client, db := locktest.OpenMet(t, table, "a", queuelock.Config{}) // so that TAKE comes first
						item := locktest.RecordKey()
						for k, v := range c.item {
							item[k] = v
						}
						if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}); err != nil {
							t.Fatal(err)
						}
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						defer cancel()
						_, err := client.Acquire(ctx, locktest.Order, wait)
						locktest.Says(t, err, append(c.says, `order-7 lock`)...)
						if _, ok := errors.AsType[*queuelock.MalformedError](err); !ok {
							t.Errorf("%v is no MalformedError", err)
						}
						state, err := client.Inspect(ctx, locktest.Order)
						if strings.HasPrefix(c.says[0], "holders.") && err == nil {
							err = state.Serving[0].Problem
						}
						locktest.Says(t, err, c.says...)
						left := table.Items()
						for k, v := range c.item {
							// No condition can ask for a whole number, or look into entries.
							raised := k == "ticketNumber" && (c.name == "broken counter" || strings.Contains(c.name, "holder") && strings.Contains(c.says[0], "holders.h"))
							if !raised && !reflect.DeepEqual(left[0][k], v) {
								t.Errorf("attribute %s was changed from %v to %v", k, v, left[0][k])
							}
						}
						if len(left) != 1 {
							t.Errorf("%d items, want the one that was there", len(left))
						}
					})
				})
			}
		}
	}
}

// A row that some other program wrote is waited for, and then swept, like that
// of a dead waiter; meanwhile the error names it.
func TestAMalformedRowDelaysAQueueByOneLeaseAndIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		holder, _ := locktest.Open(t, table, "holder", locktest.TenSeconds)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		// Two numbers are taken and rows of nonsense put there.
		for _, number := range []uint64{2, 3} {
			if _, err := holder.Acquire(t.Context(), locktest.Order, waitpolicy.For(100*time.Millisecond)); !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Fatal(err)
			}
			item := locktest.RecordKey()
			item["sk"] = &types.AttributeValueMemberS{Value: "lock/" + ticket.FromUint64(number).Padded()}
			item["beat"] = &types.AttributeValueMemberS{Value: "boom"}
			if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}); err != nil {
				t.Fatal(err)
			}
		}
		locktest.Release(t, held)
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(time.Second))
		locktest.Says(t, err, "queue row", "order-7 lock", "id is missing")
		if _, ok := errors.AsType[*queuelock.MalformedError](err); !ok || !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("%v: want ErrNotAcquired, with the malformed row in it", err)
		}
		state := locktest.Must(c.Inspect(t.Context(), locktest.Order))
		if len(state.Waiting) != 2 || state.Waiting[0].Problem == nil {
			t.Errorf("waiting %+v, want the two rows with their problems", state.Waiting)
		}
		begun := time.Now()
		got := <-locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
		if took := time.Since(begun); got.Err != nil || took > time.Minute+2*time.Second {
			t.Errorf("served after %v: %v", took, got.Err)
		}
		if rows, _ := locktest.RowsAndHolders(t, c); rows != 0 {
			t.Errorf("%d rows are left", rows)
		}
	})
}

func TestReleaseTwiceIsNilAndConcurrentReleasesAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		before := db.Counts()
		results := make(chan error)
		for range 5 {
			go func() { results <- lock.Release(t.Context()) }()
		}
		for range 5 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		locktest.Release(t, lock)
		if n := db.Counts().Sub(before).Total().Sent; n != 1 {
			t.Errorf("%d requests for releasing one lock", n)
		}
	})
}

func TestReleaseThatFailedMayBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		denied := db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("UpdateItem"))
		err := lock.Release(t.Context())
		locktest.Says(t, err, "release", `"order-7"`, "1m0s")
		if !errors.Is(lock.Err(), queuelock.ErrReleased) || lock.Context().Err() == nil {
			t.Errorf("after a release that failed the lock says %v", lock.Err())
		}
		denied.Remove()
		locktest.Release(t, lock)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
	})
}

// A deferred Release often gets a context that has ended.
func TestReleaseWorksWithAContextThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
		c, _ := locktest.Open(t, table, "a", queuelock.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		cancel()
		if err := lock.Release(ctx); err != nil {
			t.Error(err)
		}
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
	})
}

func TestExhaustedTicketsAreAnErrorAndNothingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		item := locktest.RecordKey()
		before := ticket.Max.Previous()
		item["ticketNumber"], item["granted"] = before.Attribute(), before.Attribute()
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}); err != nil {
			t.Fatal(err)
		}
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		if lock.Ticket() != ticket.Max {
			t.Errorf("ticket %s, want the last one", lock.Ticket())
		}
		locktest.Release(t, lock)
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		if !errors.Is(err, ticket.ErrExhausted) {
			t.Errorf("%v, want ErrExhausted", err)
		}
	})
}

func TestAnEmptyClientSaysHowToMakeOne(t *testing.T) {
	c, ctx := &queuelock.Client{}, t.Context()
	_, acquired := c.Acquire(ctx, locktest.Order, waitpolicy.NoWait)
	_, all := c.AcquireAll(ctx, []queuelock.Key{locktest.Order}, waitpolicy.NoWait)
	_, resumed := c.Resume(ctx, queuelock.Handle{Key: locktest.Order, Ticket: ticket.FromUint64(1), ID: "x"}, waitpolicy.NoWait)
	_, item := c.LockItem(ctx, queuelock.ItemKey{}, waitpolicy.NoWait)
	_, inspected := c.Inspect(ctx, locktest.Order)
	_, inspectedItem := c.InspectItem(ctx, queuelock.ItemKey{})
	_, locked := c.IsLocked(ctx, locktest.Order)
	_, swept := c.Sweep(ctx, locktest.Order)
	for what, err := range map[string]error{
		"Acquire": acquired, "AcquireAll": all, "Resume": resumed, "LockItem": item, "Inspect": inspected, "InspectItem": inspectedItem,
		"IsLocked": locked, "Sweep": swept, "Evict": c.Evict(ctx, locktest.Order, ticket.FromUint64(1)), "Close": c.Close(ctx),
		"Do": c.Do(ctx, locktest.Order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error { return nil }),
	} {
		if err == nil || err.Error() != "queuelock: the Client is empty: New makes one" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestANilOptionChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, nil, queuelock.Shared(), nil)
		if !lock.Shared() {
			t.Error("the option beside it was left out")
		}
		locktest.Release(t, lock)
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		u.Put(whole)
		locktest.Release(t, locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait, nil).Lock)
	})
}
