package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/internal/retry"
)

var (
	errBusy  = errors.New("busy")
	errFatal = errors.New("fatal")
)

func policy(p retry.Policy) retry.Policy {
	p.Retryable = func(err error) bool { return errors.Is(err, errBusy) }
	return p
}

func TestDo(t *testing.T) {
	for name, test := range map[string]struct {
		policy retry.Policy
		errs   []error       // of the attempts; the last one repeats
		end    time.Duration // of ctx; zero: never
		want   error
		calls  int
	}{
		"ReturnsNilAfterSuccess":            {errs: []error{errBusy, errBusy, nil}, calls: 3},
		"ReturnsErrorThatIsNotRetryable":    {errs: []error{errBusy, errFatal}, want: errFatal, calls: 2},
		"ReturnsLastErrorAfterTimeout":      {policy: retry.Policy{Timeout: time.Nanosecond}, errs: []error{errBusy}, want: errBusy, calls: 2},
		"ReturnsLastErrorAfterEndOfContext": {errs: []error{errBusy}, end: time.Nanosecond, want: errBusy, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.end > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.end)
					defer cancel()
				}
				calls, retried := 0, 0
				test.policy.OnRetry = func(error) { retried++ }
				err := policy(test.policy).Do(ctx, func(context.Context) error {
					calls++
					return test.errs[min(calls, len(test.errs))-1]
				})
				if !errors.Is(err, test.want) || err == nil && test.want != nil {
					t.Errorf("error %v, want %v", err, test.want)
				}
				if test.policy.Timeout == 0 && calls != test.calls {
					t.Errorf("%d calls, want %d", calls, test.calls)
				}
				if retried == 0 && test.errs[0] == errBusy {
					t.Error("OnRetry was not called")
				}
			})
		})
	}
}

func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		err := policy(retry.Policy{Grace: time.Second}).Do(ctx, func(ctx context.Context) error {
			cancel()
			<-ctx.Done()
			return errFatal
		})
		if !errors.Is(err, errFatal) || time.Since(begun) != time.Second {
			t.Errorf("the request ended with %v after %v, want %v after 1s", err, time.Since(begun), errFatal)
		}
	})
}

func TestSharedSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, calls := time.Now(), 0
		p := policy(retry.Policy{Schedule: retry.For(3 * time.Second)})
		for range 2 {
			if err := p.Do(t.Context(), func(context.Context) error { calls++; return errBusy }); !errors.Is(err, errBusy) {
				t.Fatalf("error %v, want %v", err, errBusy)
			}
		}
		if took := time.Since(begun); took > 6*time.Second || calls < 3 {
			t.Errorf("%d calls in %v, want one series of 3s", calls, took)
		}
	})
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if !retry.Sleep(t.Context(), time.Second) || time.Since(begun) != time.Second {
			t.Errorf("it slept for %v, want 1s", time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if retry.Sleep(ctx, time.Minute) {
			t.Error("it reports the whole sleep, after the end of its context")
		}
	})
}
