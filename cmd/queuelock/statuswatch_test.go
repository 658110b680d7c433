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

// TestStatusExitCode checks that --exit-code distinguishes the states of a queue.
func TestStatusExitCode(t *testing.T) {
	e := newEngine(t)
	code := func(want int) {
		t.Helper()
		for _, format := range []string{"table", "json"} {
			if o := invoke(t, "status", "x", "--exit-code", "-o", format); o.code != want || o.stdout == "" || o.stderr != "" {
				t.Errorf("%+v, want exit code %d", o, want)
			}
		}
		invoke(t, "status", "x").ends(t, 0)
	}
	code(exitUnused)
	lock := e.occupied(t, "x")
	code(0)
	locktest.OK(t, lock.Release(t.Context()))
	code(exitIdle)
}

// TestStatusFormats checks the outputs of -o.
func TestStatusFormats(t *testing.T) {
	e := newEngine(t)
	lock := e.occupied(t, "x")
	invoke(t, "status", "x", "-o", "wide").shows(t, 0, "BEAT  SINCE", "exclusive")
	if o := invoke(t, "status", "x", "-o", "yaml"); o.code != 0 || !strings.HasPrefix(o.stdout, "entity: x\nreason: lock\nstate: held\n") {
		t.Errorf("%+v", o)
	}
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

// TestStatusItem checks that status shows the lock of an item.
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
		if o.code != 0 || !strings.HasPrefix(o.stdout, `item "orders" {id S:"order-7"}: 1 served, 1 waiting`) || !strings.Contains(o.stdout, "other owner") {
			t.Errorf("%s: %+v", form, o)
		}
	}
	cancel()
	<-left
	for _, id := range []string{"order-8", "missing"} {
		invoke(t, "status", "--item", "orders", "--key", "id="+id, "--exit-code").shows(t, exitUnused, "no such item, or it was never locked")
	}
	invoke(t, "status", "--item", "orders", "--key", "id:N=seven").ends(t, exitUsage, "no number of DynamoDB's")
	if o := invoke(t, "status", "--item", "nosuch", "--key", "id=7"); o.code != exitUnavailable || o.stderr != "queuelock: there is no table \"nosuch\" here: check --item, --region and --endpoint\n" {
		t.Errorf("%+v", o)
	}
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
