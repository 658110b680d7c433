package main

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestStatus(t *testing.T) {
	e := newEngine(t)
	queued := e.puts()
	invoke(t, "status", "x").prints(t, 0, "\"x\" (lock): no such queue in table \"queuelock\": it was never used, or has another name (see 'queuelock ls')\n")
	unused := object[map[string]any](t, invoke(t, "status", "x", "--json"))
	for _, name := range []string{"hold_time", "scope", "permits"} {
		if value, there := unused[name]; value != nil || !there {
			t.Errorf("%s of a queue never used: %v", name, value)
		}
	}
	lock := e.occupied(t, "x")
	b := start(t, t.Context(), "run", "x", "--wait", "forever", "--", "true")
	<-queued

	invoke(t, "status", "x").shows(t, 0, `"x" (lock): 1 served, 1 waiting`, "other owner", "LEASE LEFT")
	report := object[display.Report](t, invoke(t, "status", "x", "--json"))
	if len(report.Serving) != 1 || report.Serving[0].Owner != "other owner" || report.Serving[0].Ticket != "1" ||
		len(report.Waiting) != 1 || report.Waiting[0].Ticket != "2" || report.Waiting[0].Position != 1 || report.Issued != "2" {
		t.Errorf("%+v", report)
	}

	locktest.OK(t, lock.Release(t.Context()))
	b.wait(t).ends(t, 0)
	invoke(t, "status", "x").prints(t, 0, "\"x\" (lock): idle; the last ticket was 2\n")
}

func TestStatusForeignRow(t *testing.T) {
	e := newEngine(t)
	e.occupied(t, "x")
	e.put(t, queuelock.Key{Entity: "x", Reason: "lock"}, 5, map[string]types.AttributeValue{})
	invoke(t, "status", "x").shows(t, 0, "queue row 5")
}

// TestStatusExitCode checks that --exit-code distinguishes the states of a queue.
func TestStatusExitCode(t *testing.T) {
	e := newEngine(t)
	code := func(want int) {
		t.Helper()
		for _, format := range []string{"table", "json"} {
			invoke(t, "status", "x", "--exit-code", "-o", format).matches(t, want, ".", "")
		}
		invoke(t, "status", "x").ends(t, 0)
	}
	code(exitUnused)
	lock := e.occupied(t, "x")
	code(0)
	locktest.OK(t, lock.Release(t.Context()))
	code(exitIdle)
}

func TestStatusFormats(t *testing.T) {
	e := newEngine(t)
	lock := e.occupied(t, "x")
	invoke(t, "status", "x", "-o", "wide").shows(t, 0, "BEAT  SINCE", "exclusive")
	invoke(t, "status", "x", "-o", "yaml").matches(t, 0, "^entity: x\nreason: lock\nstate: held\n", "")
	report := object[display.Report](t, invoke(t, "status", "x", "-o", "json"))
	if h := report.Serving[0]; h.ID == "" || h.Beat == nil || h.Ticket != lock.Ticket().String() {
		t.Errorf("%+v", report)
	}
}

// items creates a table "orders" with the items, and returns the key of the first.
func (e *engine) items(t *testing.T, ids ...string) queuelock.ItemKey {
	t.Helper()
	locktest.Must(e.db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("orders"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	}))
	var first queuelock.ItemKey
	for _, id := range ids {
		key := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}
		locktest.Must(e.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: key}))
		if first.Key == nil {
			first = queuelock.ItemKey{Table: "orders", Key: key}
		}
	}
	return first
}

func TestStatusItem(t *testing.T) {
	e := newEngine(t)
	key := e.items(t, "order-7", "order-8")
	c := e.client(t)
	locktest.Must(c.LockItem(t.Context(), key, waitpolicy.NoWait))
	ctx, cancel := context.WithCancel(t.Context())
	queued, left := e.puts(), make(chan struct{})
	go func() {
		defer close(left)
		_, _ = c.LockItem(ctx, key, waitpolicy.Forever)
	}()
	<-queued
	for _, form := range []string{"id=order-7", `{"id":{"S":"order-7"}}`, "id:S=order-7"} {
		o := invoke(t, "status", "--item", "orders", "--key", form, "--exit-code")
		o.matches(t, 0, `^item "orders" \{id S:"order-7"\}: 1 served, 1 waiting.*other owner`, "")
	}
	cancel()
	<-left
	for _, id := range []string{"order-8", "missing"} {
		invoke(t, "status", "--item", "orders", "--key", "id="+id, "--exit-code").shows(t, exitUnused, "no such item, or it was never locked")
	}
	invoke(t, "status", "--item", "orders", "--key", "id:N=seven").ends(t, exitUsage, "no number of DynamoDB's")
	invoke(t, "status", "--item", "nosuch", "--key", "id=7").matches(t, exitUnavailable, "",
		`^queuelock: there is no table "nosuch" here: check --item, --region and --endpoint\n$`)
}

// TestStatusWatch checks that --watch prints each change once, and ends with its context.
func TestStatusWatch(t *testing.T) {
	e := newEngine(t)
	for _, format := range []string{"table", "json", "yaml"} {
		t.Run(format, func(t *testing.T) {
			looks := e.applied("Query")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b := start(t, ctx, "status", format, "--watch", "--interval", "100ms", "--exit-code", "-o", format)
			seen := map[string][2]string{
				"table": {"no such queue", "1 served"}, "json": {`"unused"`, `"held"`}, "yaml": {"state: unused\n", "state: held\n"},
			}[format]
			text := b.expect(t, seen[0])
			<-looks
			<-looks // the state that was printed is seen again
			lock := e.occupied(t, format)
			text += b.expect(t, seen[1])
			if n := strings.Count(text, seen[0]); n != 1 {
				t.Errorf("the first state was printed %d times:\n%s", n, text)
			}
			cancel()
			b.wait(t).silent(t, 0)
			locktest.OK(t, lock.Release(t.Context()))
		})
	}
}

// TestStatusWatchOutage checks that --watch reports an outage and its end once, and goes on.
func TestStatusWatchOutage(t *testing.T) {
	e := newEngine(t)
	looks := e.applied("Query")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := start(t, ctx, "status", "x", "--watch", "--interval", "100ms")
	b.expect(t, "no such queue")
	locktest.Must(e.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("queuelock")}))
	for len(looks) > 0 {
		<-looks
	}
	for range 3 {
		<-looks
	}
	locktest.OK(t, createTable(t.Context(), e.db, "queuelock"))
	e.occupied(t, "x")
	b.expect(t, "1 served")
	cancel()
	if o := b.wait(t); o.code != 0 || strings.Count(o.stderr, "\n") != 2 || strings.Contains(o.stderr, "repeat the command") ||
		!strings.Contains(o.stderr, "there is no table") || !strings.Contains(o.stderr, "; still watching\n") || !strings.HasSuffix(o.stderr, "queuelock: DynamoDB answers again\n") {
		t.Errorf("%+v", o)
	}
}
