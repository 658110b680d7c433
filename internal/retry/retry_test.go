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

// TestAnswer checks that the last answer is returned, and that a policy without Retryable repeats nothing.
func TestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, p := range map[int]retry.Policy{1: {}, 3: policy(retry.Policy{})} {
			calls := 0
			got, err := retry.Answer(t.Context(), p, func(context.Context) (int, error) {
				if calls++; calls < 3 {
					return calls, errBusy
				}
				return calls, nil
			})
			if got != want || (err == nil) != (want == 3) {
				t.Errorf("answer %d, %v, want %d", got, err, want)
			}
		}
	})
}

func TestSharedSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(retry.Policy{Schedule: retry.For(3 * time.Second)})
		for do, one := range []bool{false, true} {
			calls := 0
			if err := p.Do(t.Context(), func(context.Context) error { calls++; return errBusy }); !errors.Is(err, errBusy) {
				t.Fatalf("error %v, want %v", err, errBusy)
			}
			if (calls == 1) != one {
				t.Errorf("%d calls of Do %d, want one of the second alone: the series is over", calls, do+1)
			}
		}
	})
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			s, begun := retry.Until(time.Now().Add(3*time.Second)), time.Now()
			for s.Pause(t.Context()) {
				s.Reset() // a new series does not move the end
			}
			if took := time.Since(begun); took >= 3*time.Second || took < 2*time.Second {
				t.Fatalf("attempts begin for %v, want almost 3s", took)
			}
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
