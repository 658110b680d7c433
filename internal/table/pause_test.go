package table_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

// pausing is the SDK's standard Retryer with constant pauses.
func pausing(d time.Duration) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
			r.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return d, nil })
		})
	}
}

// attempts sends a request in vain. It returns the pauses between its attempts, how long it took, and its error.
func attempts(t *testing.T, tb *queuelocktest.Table, q table.Queue, fault queuelocktest.Fault) (pauses []time.Duration, took time.Duration, err error) {
	var at []time.Time
	in := tb.Inject(fault.Where(func(queuelocktest.Request) bool { at = append(at, time.Now()); return true }))
	defer in.Remove()
	begun := time.Now()
	_, err = q.Get(t.Context(), q.RecordKey())
	took = time.Since(begun)
	for i := range at[1:] {
		pauses = append(pauses, at[i+1].Sub(at[i]))
	}
	return pauses, took, err
}

var (
	failure  = queuelocktest.LoseRequest()
	throttle = queuelocktest.Refuse(queuelocktest.ThroughputExceeded)
)

// TestPausesAfterFailures checks that they are random, short, and never longer than the Retryer's.
func TestPausesAfterFailures(t *testing.T) {
	for name, c := range map[string]struct {
		retryer       time.Duration
		least, most   time.Duration // of the longest of many pauses
		differ        bool
		retryerOption func(*dynamodb.Options)
	}{
		"AreThoseOfShorterRetryer":      {retryer: 10 * time.Millisecond, least: 10 * time.Millisecond, most: 10 * time.Millisecond},
		"AreRandomBelowThoseOfRetryer":  {retryer: time.Minute, least: table.LongestPause / 2, most: table.LongestPause, differ: true},
		"AreRandomWithRetryerWithoutV2": {retryer: time.Minute, least: table.LongestPause / 2, most: table.LongestPause, differ: true, retryerOption: withoutV2},
	} {
		locktest.InTable(t, name, func(t *testing.T, tb *queuelocktest.Table) {
			options := []func(*dynamodb.Options){pausing(c.retryer)}
			if c.retryerOption != nil {
				options = append(options, c.retryerOption)
			}
			q := queueOn(tb.Client("c", options...))
			seen, longest := map[time.Duration]bool{}, time.Duration(0)
			for range 10 {
				pauses, _, _ := attempts(t, tb, q, failure)
				if len(pauses) != 2 {
					t.Fatalf("%d pauses", len(pauses))
				}
				for _, p := range pauses {
					seen[p], longest = true, max(longest, p)
				}
			}
			if longest < c.least || longest > c.most || c.differ && len(seen) < 15 {
				t.Errorf("the longest of %d different pauses is %v, want %v to %v", len(seen), longest, c.least, c.most)
			}
		})
	}
}

// withoutV2 hides what aws.Retryer does not have.
func withoutV2(o *dynamodb.Options) { o.Retryer = struct{ aws.Retryer }{o.Retryer} }

// TestPausesAfterThrottles checks that they are the Retryer's, as long as the call has time for another attempt. A call
// without that time ends with the throttle.
func TestPausesAfterThrottles(t *testing.T) {
	last := timeout - timeout/8 // when the last attempt begins
	for name, c := range map[string]struct {
		retryer time.Duration
		want    []time.Duration
	}{
		"AreThoseOfRetryer":          {time.Second, []time.Duration{time.Second, time.Second}},
		"LeaveTimeForSecondAttempt":  {time.Minute, []time.Duration{last}},
		"LeaveTimeForAnotherAttempt": {3 * time.Second, []time.Duration{3 * time.Second, last - 3*time.Second}},
	} {
		locktest.InTable(t, name, func(t *testing.T, tb *queuelocktest.Table) {
			pauses, took, err := attempts(t, tb, queueOn(tb.Client("c", pausing(c.retryer))), throttle)
			sum := time.Duration(0)
			for i, p := range pauses {
				sum += p
				if len(pauses) != len(c.want) || p != c.want[i] {
					t.Fatalf("pauses %v, want %v", pauses, c.want)
				}
			}
			if took != sum {
				t.Errorf("it took %v with pauses of %v", took, sum)
			}
			if e, ok := err.(*table.Error); !ok || e.Timeout > 0 || !table.Transient(err) || len(pauses) == 0 {
				t.Errorf("%d pauses, error %v, want the throttle", len(pauses), err)
			}
		})
	}
}

// proxy is a transport that changes what the table answers.
type proxy struct {
	dynamodb.HTTPClient
	change func(*http.Response)
}

func (p proxy) Do(r *http.Request) (*http.Response, error) {
	answer, err := p.HTTPClient.Do(r)
	if err == nil {
		p.change(answer)
	}
	return answer, err
}

// changed is an option of a client behind a proxy.
func changed(change func(*http.Response)) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) { o.HTTPClient = proxy{o.HTTPClient, change} }
}

// TestRetryAfter checks that a pause that an answer asks for leaves time for another attempt, and that what is no
// throttle is tried again as soon as without it.
func TestRetryAfter(t *testing.T) {
	ask := func(tb *queuelocktest.Table, ms string) table.Queue {
		return queueOn(tb.Client("c", pausing(10*time.Millisecond), changed(func(answer *http.Response) { answer.Header.Set("X-Amz-Retry-After", ms) })))
	}
	locktest.InTable(t, "LeavesTimeForAnotherAttempt", func(t *testing.T, tb *queuelocktest.Table) {
		pauses, took, err := attempts(t, tb, ask(tb, "5000"), throttle)
		if last := timeout - timeout/8; len(pauses) != 1 || pauses[0] != last || took != last || !table.Transient(err) {
			t.Errorf("pauses %v, error %v after %v, want a pause of %v", pauses, err, took, last)
		}
	})
	locktest.InTable(t, "IsFollowedAfterThrottle", func(t *testing.T, tb *queuelocktest.Table) {
		if pauses, _, _ := attempts(t, tb, ask(tb, "700"), throttle); len(pauses) != 2 || pauses[0] != 700*time.Millisecond || pauses[1] != pauses[0] {
			t.Errorf("pauses %v, want 700ms", pauses)
		}
	})
	locktest.InTable(t, "IsShortAfterFailure", func(t *testing.T, tb *queuelocktest.Table) {
		pauses, took, _ := attempts(t, tb, ask(tb, "5000"), queuelocktest.Refuse(queuelocktest.Unavailable))
		if len(pauses) != 2 || took > 2*table.LongestPause {
			t.Errorf("pauses %v, want at most %v each", pauses, table.LongestPause)
		}
	})
}

// holding is a Retryer that holds each attempt back for a second, as the mode adaptive does after throttles.
type holding struct{ *retry.AdaptiveMode }

func (h holding) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	select {
	case <-time.After(time.Second):
		return h.AdaptiveMode.GetAttemptToken(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestAdaptive checks that a Retryer holds an attempt back no longer than the call lasts. TestAdaptiveMode draws how long it
// would.
func TestAdaptive(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, tb *queuelocktest.Table) {
		begun, q := time.Now(), queueOn(tb.Client("c", func(o *dynamodb.Options) { o.Retryer = holding{retry.NewAdaptiveMode()} }))
		q.Store = q.AtMost(time.Second / 2)
		if _, err := q.Get(t.Context(), q.RecordKey()); !table.Transient(err) || time.Since(begun) != time.Second/2 {
			t.Errorf("error %v after %v, want a time-out after 500ms", err, time.Since(begun))
		}
	})
}

// TestAdaptiveMode checks in real time, with the SDK's own mode adaptive, that a call ends in time however long the mode
// holds it back, that it is held back, and that it works again when the throttles have ended.
func TestAdaptiveMode(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	adaptive := retry.NewAdaptiveMode()
	q := queueOn(tb.Client("c", func(o *dynamodb.Options) { o.Retryer = adaptive }))
	patient := q
	q.Store = q.AtMost(100 * time.Millisecond)
	sent := 0
	throttles := tb.Inject(throttle.Where(func(queuelocktest.Request) bool { sent++; return true }))
	const calls = 10
	for range calls {
		begun := time.Now()
		if _, err := q.Get(t.Context(), q.RecordKey()); !table.Transient(err) || time.Since(begun) > time.Second {
			t.Errorf("error %v after %v, want one that may pass within the time of the call", err, time.Since(begun))
		}
	}
	if sent == 0 || sent >= calls {
		t.Errorf("%d attempts in %d calls, want fewer than calls", sent, calls)
	}
	throttles.Remove()
	if _, err := patient.Get(t.Context(), q.RecordKey()); err != nil {
		t.Errorf("after the throttles: %v", err)
	}
}
