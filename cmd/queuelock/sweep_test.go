package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// crashed leaves an expired holder and an expired waiter in a queue.
func (e *engine) crashed(t *testing.T, entity string) {
	t.Helper()
	key := queuelock.Key{Entity: entity}
	lock := e.occupied(t, entity)
	ctx, cancel := context.WithCancel(t.Context())
	queued, left := make(chan struct{}, 16), make(chan error, 1)
	go func() {
		_, err := e.client(t).Acquire(ctx, key, waitpolicy.Forever, queuelock.OnProgress(func(queuelock.Progress) { queued <- struct{}{} }))
		left <- err
	}()
	<-queued
	var row map[string]types.AttributeValue
	for row == nil { // the row may be put after the first look
		out := locktest.Must(e.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("queuelock"), ConsistentRead: aws.Bool(true)}))
		for _, item := range out.Items {
			if item["pk"].(*types.AttributeValueMemberS).Value == entity && item["beat"] != nil {
				row = item
			}
		}
	}
	cancel()
	if err := <-left; !errors.Is(err, queuelock.ErrNotAcquired) {
		t.Fatal(err)
	}
	row["until"] = &types.AttributeValueMemberN{Value: "1"}
	locktest.Must(e.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("queuelock"), Item: row}))
	sort := strings.TrimRight(row["sk"].(*types.AttributeValueMemberS).Value, "0123456789") + strings.Repeat("0", 38)
	locktest.Must(e.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                aws.String("queuelock"),
		Key:                      map[string]types.AttributeValue{"pk": row["pk"], "sk": &types.AttributeValueMemberS{Value: sort}},
		UpdateExpression:         aws.String("SET holders.#id.#until = :until"),
		ConditionExpression:      aws.String("attribute_exists(holders.#id)"),
		ExpressionAttributeNames: map[string]string{"#id": e.state(t, entity).Serving[0].ID, "#until": "until"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":until": &types.AttributeValueMemberN{Value: "1"},
		},
	}))
	t.Cleanup(func() { _ = lock.Release(context.Background()) }) // it was swept
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
	if s := e.state(t, "x"); len(s.Serving) != 1 || len(s.Waiting) != 1 {
		t.Errorf("the dry run has removed something: %+v", s)
	}
	o := invoke(t, "sweep", "x")
	if !strings.HasPrefix(o.stdout, "\"x\" (lock): removed 1 waiter and 1 holder\n1 queue looked at: removed 1 waiter and 1 holder; ") ||
		!strings.Contains(o.stdout, " requests, ") || !strings.HasSuffix(o.stdout, " write units\n") || o.code != 0 || o.stderr != "" {
		t.Errorf("%+v", o)
	}
	e.mustBeIdle(t, "x")
	if o := invoke(t, "sweep", "x"); o.code != 0 || !strings.HasPrefix(o.stdout, "1 queue looked at: removed 0 waiters and 0 holders; 1 request, 1 read unit, 0 write units\n") {
		t.Errorf("again: %+v", o)
	}
	o = invoke(t, "sweep", "--all", "--json")
	if report := object[sweepReport](t, o); !strings.Contains(o.stderr, "read unit") ||
		report.Queues != 4 || report.Waiters != 2 || report.Holders != 2 || len(report.Swept) != 2 || report.ReadUnits < 3 || report.WriteUnits < 4 {
		t.Errorf("%+v, %+v", o, report)
	}
	for _, entity := range []string{"y", "z"} {
		e.mustBeIdle(t, entity)
	}
	if s := e.state(t, "live"); len(s.Serving) != 1 {
		t.Error("a live holder was removed")
	}
}
