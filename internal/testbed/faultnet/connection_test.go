package faultnet_test

import (
	"context"
	"errors"
	"net/http"
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
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
		})
	}
}

// TestClose checks that Close ends every wait.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(faultnet.Config{})
		gate := fault.NewGate()
		fates := []fault.Fate{
			{There: fault.Leg{Swallowed: true}},
			{There: fault.Leg{Gate: gate}, Anyway: true},
			{Back: fault.Leg{Delay: 1000 * time.Hour}},
			{Copy: &fault.Leg{Delay: 1000 * time.Hour}},
		}
		start := time.Now()
		failed := make(chan error, len(fates))
		for _, fate := range fates {
			client, _ := r.client("a", fate)
			go func() {
				_, err := client.PutItem(t.Context(), put("k", false), once)
				failed <- err
			}()
		}
		synctest.Wait()
		r.net.Close()
		r.net.Close()
		errs := 0
		for range fates {
			if err := <-failed; err != nil {
				errs++
			}
		}
		if errs != 3 {
			t.Errorf("%d calls failed, want the 3 which waited", errs)
		}
		locktest.Check(t, r.net.Settle(t.Context()))
		client, _ := r.client("late")
		if _, err := client.PutItem(t.Context(), put("k", false), once); err == nil {
			t.Error("a request got through a closed network")
		}
		if got := time.Since(start); got != 0 {
			t.Errorf("closing took %v", got)
		}
		if n := len(r.putTimes()); n != 2 {
			t.Errorf("applied %d times, want 2: the delayed response and the copied request", n)
		}
	})
}

// TestSettle checks that Settle is bounded by its context.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(faultnet.Config{})
		client, _ := r.client("a", fault.Fate{Copy: &fault.Leg{Delay: time.Hour}})
		locktest.Must(client.PutItem(t.Context(), put("k", false)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := r.net.Settle(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
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

func TestSplitTransactions(t *testing.T) {
	// The engine takes a minute for a transaction, or until its context ends.
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Minute):
			w.WriteHeader(http.StatusOK)
		case <-r.Context().Done():
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write([]byte(`{}`))
	})
	send := func(ctx context.Context, net *faultnet.Network) error {
		conn := net.Connect("a", func(faultnet.Request) fault.Fate { return fault.Fate{Split: []time.Duration{0}} })
		db := faultnet.SDK(conn, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
		_, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: aws.String("t"), Item: put("k", false).Item}},
		}})
		return err
	}
	for _, test := range []struct {
		name     string
		leaves   time.Duration // when the caller leaves
		closes   time.Duration // when the network is closed
		answered time.Duration
		ok       bool
		settled  time.Duration
	}{
		{"CallerIsAnsweredWhenTheEngineIsDone", time.Hour, time.Hour, time.Minute, true, time.Minute},
		{"TransactionGoesOnWithoutItsCaller", time.Second, time.Hour, time.Second, false, time.Minute},
		{"CloseEndsTheEnginesWait", time.Hour, time.Second, time.Second, false, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := faultnet.New(slow, faultnet.Config{})
				ctx, cancel := context.WithTimeout(t.Context(), test.leaves)
				defer cancel()
				start := time.Now()
				closing := time.AfterFunc(test.closes, net.Close)
				defer closing.Stop()
				if err := send(ctx, net); (err == nil) != test.ok || time.Since(start) != test.answered {
					t.Errorf("answered with %v after %v", err, time.Since(start))
				}
				if err := net.Settle(t.Context()); err != nil || time.Since(start) != test.settled {
					t.Errorf("settled with %v after %v", err, time.Since(start))
				}
			})
		})
	}
}
