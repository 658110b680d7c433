package faultnet_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// once turns the SDK's retries off, so that a test sees what one attempt
// meets.
func once(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }

func TestStray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(faultnet.Config{})
		var fate fault.Fate
		fate.Add(fault.Stray, time.Minute)
		client, _ := r.client("a", fate)
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.PutItem(ctx, put("k", false), once); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("got error %v after %v, want the caller's own end", err, time.Since(start))
		}
		locktest.OK(t, r.net.Settle(t.Context()))
		if got := r.putTimes(); len(got) != 1 || got[0].Sub(start) != time.Minute {
			t.Errorf("applied at %v, want once, a minute after it was sent", got)
		}
	})
}

// TestPartitionOfRunningRequests checks that a partition also fails requests that are
// under way.
func TestPartitionOfRunningRequests(t *testing.T) {
	for _, test := range []struct {
		name    string
		fate    fault.Fate
		applied int
	}{
		{"on the way there", fault.Fate{There: fault.Leg{Delay: time.Minute}}, 0},
		{"on the way back", fault.Fate{Back: fault.Leg{Delay: time.Minute}}, 1},
	} {
		locktest.InBubble(t, test.name, func(t *testing.T) {
			r := newRig(faultnet.Config{})
			client, conn := r.client("a", test.fate)
			time.AfterFunc(time.Second, conn.Cut)
			if _, err := client.PutItem(t.Context(), put("k", false), once); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("got %v, want a reset connection", err)
			}
			if n := len(r.putTimes()); n != test.applied {
				t.Errorf("applied %d times, want %d", n, test.applied)
			}
		})
	}
}

// TestSettle checks that Settle is bounded by its context.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(faultnet.Config{})
		client, _ := r.client("a", fault.Fate{Copy: &fault.Leg{Delay: time.Hour}})
		locktest.Must(client.PutItem(t.Context(), put("k", false)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		locktest.Is(t, r.net.Settle(ctx), context.DeadlineExceeded)
		locktest.Check(t, r.net.Settle(t.Context()))
	})
}

// TestEndedContext checks that a request with an ended context is not sent.
func TestEndedContext(t *testing.T) {
	r := newRig(faultnet.Config{})
	client, _ := r.client("a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.PutItem(ctx, put("k", false)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want a cancellation", err)
	}
	if n := len(r.putTimes()); n != 0 {
		t.Errorf("applied %d times", n)
	}
}

// TestConflict checks that a conflict cancels a transaction.
func TestConflict(t *testing.T) {
	r := newRig(faultnet.Config{})
	client, _ := r.client("a", fault.Fate{Refusal: &fault.Refusal{Code: "TransactionConflictException", Message: "conflict"}})
	_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String("tab"), Item: put("k", false).Item}},
		{Put: &types.Put{TableName: aws.String("tab"), Item: put("l", false).Item}},
	}}, once)
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) || len(canceled.CancellationReasons) != 2 {
		t.Fatalf("got %v, want a cancelled transaction with two reasons", err)
	}
	for i, want := range []string{"TransactionConflict", "None"} {
		if got := aws.ToString(canceled.CancellationReasons[i].Code); got != want {
			t.Errorf("reason %d is %q, want %q", i, got, want)
		}
	}
}
