package main

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// crashed leaves an expired holder and an expired waiter in a queue.
func (e *engine) crashed(t *testing.T, entity string) {
	t.Helper()
	lock, leave := e.occupied(t, entity), e.waits(t, entity)
	t.Cleanup(func() { _ = lock.Release(context.Background()) }) // it was swept
	holder, table := e.state(t, entity).Serving[0].ID, aws.String("queuelock")
	var row map[string]types.AttributeValue
	for _, item := range locktest.Must(e.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: table})).Items {
		if item["pk"].(*types.AttributeValueMemberS).Value == entity && item["beat"] != nil {
			row = item
		}
	}
	leave()
	row["until"] = number("1")
	locktest.Must(e.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: table, Item: row}))
	locktest.Must(e.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: table, Key: itemKey(queuelock.Key{Entity: entity, Reason: "lock"}, 0),
		UpdateExpression:          aws.String("SET holders.#id.#until = :until"),
		ExpressionAttributeNames:  map[string]string{"#id": holder, "#until": "until"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":until": number("1")},
	}))
}

// TestSweep checks that sweep removes what has expired, and nothing else.
func TestSweep(t *testing.T) {
	e := newEngine(t)
	e.occupied(t, "live")
	for _, entity := range []string{"x", "y", "z"} {
		e.crashed(t, entity)
	}
	for _, dry := range []string{"sweep x --dry-run", "sweep --all --dry-run"} {
		invoke(t, strings.Fields(dry)...).shows(t, 0, "\"x\" (lock): would remove 1 waiter and 1 holder\n")
	}
	e.mustHave(t, "x", 1, 1)
	invoke(t, "sweep", "x").matches(t, 0, `^"x" \(lock\): removed 1 waiter and 1 holder\n`+
		`1 queue looked at: removed 1 waiter and 1 holder; .* requests, .* write units\n$`, "")
	e.mustBeIdle(t, "x")
	invoke(t, "sweep", "x").matches(t, 0,
		"^1 queue looked at: removed 0 waiters and 0 holders; 1 request, 1 read unit, 0 write units\n", "")
	o := invoke(t, "sweep", "--all", "--json")
	if report := object[sweepReport](t, o); !strings.Contains(o.stderr, "read unit") ||
		report.Queues != 4 || report.Waiters != 2 || report.Holders != 2 || len(report.Swept) != 2 || report.ReadUnits < 3 || report.WriteUnits < 4 {
		t.Errorf("%+v, %+v", o, report)
	}
	for _, entity := range []string{"y", "z"} {
		e.mustBeIdle(t, entity)
	}
	e.mustHave(t, "live", 1, 0)
}
