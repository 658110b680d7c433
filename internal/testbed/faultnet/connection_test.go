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
	"github.com/aws/smithy-go"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// once turns the SDK's retries off, so that a test sees what one attempt
// meets.
func once(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }

// TestLostResponse checks that a lost response makes a conditional put fail on its own
// success.
func TestLostResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(faultnet.Config{})
		client, _ := r.client("a", fault.Fate{Name: "lose response", Back: fault.Leg{Lost: true}})
		_, err := client.PutItem(t.Context(), put("k", true))
		var failed *types.ConditionalCheckFailedException
		if !errors.As(err, &failed) {
			t.Fatalf("got %v, want a failed condition", err)
		}
		if pk, _ := failed.Item["pk"].(*types.AttributeValueMemberS); pk == nil || pk.Value != "k" {
			t.Errorf("the failed condition returned %v, want the caller's own item", failed.Item)
		}
		r.wantTally(t, "PutItem", faultnet.Tally{Sent: 2, Applied: 2, FailedConditions: 1, WriteUnits: 4})
		r.wantLog(t, "[lose response]  → ok  → ", "connection reset", "(attempt 2)", "→ ConditionalCheckFailedException")
	})
}

// TestLostRequest checks that a lost request is applied only by the retry.
func TestLostRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(faultnet.Config{})
		client, _ := r.client("a", fault.Fate{There: fault.Leg{Lost: true}})
		if _, err := client.PutItem(t.Context(), put("k", true)); err != nil {
			t.Fatal(err)
		}
		r.wantTally(t, "PutItem", faultnet.Tally{Sent: 2, Applied: 1, WriteUnits: 3})
	})
}

// TestDelays checks that delays are before or after the write.
func TestDelays(t *testing.T) {
	for _, test := range []struct {
		name              string
		fate              fault.Fate
		latency           time.Duration
		applied, answered time.Duration
	}{
		{"no fault", fault.Fate{}, 0, 0, 0},
		{"there", fault.Fate{There: fault.Leg{Delay: time.Hour}}, 0, time.Hour, time.Hour},
		{"back", fault.Fate{Back: fault.Leg{Delay: time.Hour}}, 0, 0, time.Hour},
		{"there, anyway", fault.Fate{There: fault.Leg{Delay: time.Hour}, Anyway: true}, 0, time.Hour, time.Hour},
		{"latency", fault.Fate{}, 20 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(faultnet.Config{Latency: test.latency})
				client, _ := r.client("a", test.fate)
				start := time.Now()
				if _, err := client.PutItem(t.Context(), put("k", false)); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start); got != test.answered {
					t.Errorf("answered after %v, want %v", got, test.answered)
				}
				if got := r.putTimes()[0].Sub(start); got != test.applied {
					t.Errorf("applied after %v, want %v", got, test.applied)
				}
			})
		})
	}
}

// TestSilence checks that a fault without an answer ends with the caller's context.
func TestSilence(t *testing.T) {
	for _, test := range []struct {
		name    string
		fate    fault.Fate
		applied int
	}{
		{"request swallowed", fault.Fate{There: fault.Leg{Swallowed: true}}, 0},
		{"response swallowed", fault.Fate{Back: fault.Leg{Swallowed: true}}, 1},
		{"request delayed for longer", fault.Fate{There: fault.Leg{Delay: time.Hour}}, 0},
		{"response delayed for longer", fault.Fate{Back: fault.Leg{Delay: time.Hour}}, 1},
		{"request held", fault.Fate{There: fault.Leg{Gate: fault.NewGate()}}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if test.fate.There.Gate != nil {
					test.fate.There.Gate = fault.NewGate() // one that belongs to this bubble
				}
				r := newRig(faultnet.Config{})
				client, _ := r.client("a", test.fate)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				_, err := client.PutItem(ctx, put("k", false))
				var canceled *smithy.CanceledError
				if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &canceled) {
					t.Errorf("got %v, want the SDK's cancellation with the context's error", err)
				}
				if got := time.Since(start); got != time.Minute {
					t.Errorf("returned after %v", got)
				}
				if got := r.net.Counts("a")["PutItem"]; got.Sent != 1 || got.Applied != test.applied {
					t.Errorf("counted %+v, want 1 sent and %d applied", got, test.applied)
				}
			})
		})
	}
}

// TestAbandonedRequest checks that an abandoned request may arrive all the same.
func TestAbandonedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(faultnet.Config{})
		gate := fault.NewGate()
		client, _ := r.client("a", fault.Fate{There: fault.Leg{Gate: gate}, Anyway: true})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-gate.Reached()
			cancel()
		}()
		if _, err := client.PutItem(ctx, put("k", false)); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want a cancellation", err)
		}
		if n := len(r.putTimes()); n != 0 {
			t.Fatalf("applied %d times before the gate was opened", n)
		}
		gate.Open()
		if err := r.net.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(r.putTimes()); n != 1 {
			t.Errorf("applied %d times after the gate was opened, want once", n)
		}
	})
}

// TestCopy checks that a copy of a request arrives later.
func TestCopy(t *testing.T) {
	for _, test := range []struct {
		name string
		fate fault.Fate
		want []time.Duration
		err  bool
	}{
		{"after the first", fault.Fate{Copy: &fault.Leg{Delay: time.Minute}}, []time.Duration{0, time.Minute}, false},
		{"in place of the first", fault.Fate{There: fault.Leg{Lost: true}, Copy: &fault.Leg{Delay: time.Minute}}, []time.Duration{time.Minute}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(faultnet.Config{})
				client, _ := r.client("a", test.fate)
				start := time.Now()
				if _, err := client.PutItem(t.Context(), put("k", false), once); (err != nil) != test.err {
					t.Fatalf("got error %v", err)
				}
				if got := time.Since(start); got != 0 {
					t.Errorf("the caller waited %v for the copy", got)
				}
				if err := r.net.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
				var got []time.Duration
				for _, at := range r.putTimes() {
					got = append(got, at.Sub(start))
				}
				if len(got) != len(test.want) || got[len(got)-1] != test.want[len(got)-1] {
					t.Errorf("applied at %v, want %v", got, test.want)
				}
				r.wantLog(t, "PutItem (copy)")
			})
		})
	}
}

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
		if err := r.net.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := r.putTimes(); len(got) != 1 || got[0].Sub(start) != time.Minute {
			t.Errorf("applied at %v, want once, a minute after it was sent", got)
		}
	})
}

// TestGate checks that a gate holds requests before or after the write.
func TestGate(t *testing.T) {
	for _, test := range []struct {
		name    string
		fate    func(*fault.Gate) fault.Fate
		applied int // while held
	}{
		{"before", func(g *fault.Gate) fault.Fate { return fault.Fate{There: fault.Leg{Gate: g}} }, 0},
		{"after", func(g *fault.Gate) fault.Fate { return fault.Fate{Back: fault.Leg{Gate: g}} }, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(faultnet.Config{})
				gate := fault.NewGate()
				client, _ := r.client("a", test.fate(gate))
				answered := make(chan error, 1)
				go func() {
					_, err := client.PutItem(t.Context(), put("k", false))
					answered <- err
				}()
				<-gate.Reached()
				time.Sleep(time.Hour)
				synctest.Wait()
				if len(answered) != 0 || len(r.putTimes()) != test.applied {
					t.Errorf("while held: answered %d, applied %d times, want 0 and %d", len(answered), len(r.putTimes()), test.applied)
				}
				gate.Open()
				if err := <-answered; err != nil || len(r.putTimes()) != 1 {
					t.Errorf("after opening: error %v, applied %d times", err, len(r.putTimes()))
				}
			})
		})
	}
}

// TestPartition checks that a partition fails the requests of one client until it is
// healed.
func TestPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(faultnet.Config{})
		a, conn := r.client("a")
		b, _ := r.client("b")
		conn.Cut()
		if _, err := a.PutItem(t.Context(), put("k", false)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a cut client got %v, want a refused connection", err)
		}
		if got, want := r.net.Counts("a")["PutItem"], (faultnet.Tally{Sent: 3}); got != want {
			t.Errorf("a cut client counted as %+v, want %+v: the SDK's three attempts", got, want)
		}
		if _, err := b.PutItem(t.Context(), put("k", false)); err != nil {
			t.Errorf("another client: %v", err)
		}
		conn.Heal()
		if _, err := a.PutItem(t.Context(), put("k", false)); err != nil {
			t.Errorf("after healing: %v", err)
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
		if err := r.net.Settle(t.Context()); err != nil {
			t.Error(err)
		}
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
		if _, err := client.PutItem(t.Context(), put("k", false)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := r.net.Settle(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		if err := r.net.Settle(t.Context()); err != nil {
			t.Error(err)
		}
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
