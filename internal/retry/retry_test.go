package retry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
)

var (
	errBusy  = errors.New("busy")
	errFatal = errors.New("fatal")
)

// policy repeats after errBusy.
var policy = retry.Policy{Retryable: func(err error) bool { return errors.Is(err, errBusy) }}

func TestDo(t *testing.T) {
	for name, test := range map[string]struct {
		errs    []error // of the attempts; the last one repeats
		timeout time.Duration
		end     time.Duration // of ctx; zero: never
		want    error
		calls   int
		retried int
	}{
		"ReturnsNilAfterSuccess":            {errs: []error{errBusy, errBusy, nil}, calls: 3, retried: 2},
		"ReturnsErrorThatIsNotRetryable":    {errs: []error{errBusy, errFatal}, want: errFatal, calls: 2, retried: 1},
		"ReturnsLastErrorAfterTimeout":      {errs: []error{errBusy}, timeout: time.Nanosecond, want: errBusy, calls: 1, retried: 1},
		"ReturnsLastErrorAfterEndOfContext": {errs: []error{errBusy}, end: 10 * time.Millisecond, want: errBusy, calls: 1, retried: 1},
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
				var failed time.Time
				p := policy.Within(test.timeout)
				p.OnRetry = func(err error) {
					if retried++; !errors.Is(err, errBusy) || time.Now() != failed {
						t.Errorf("OnRetry has %v after %v, want %v before the pause", err, time.Since(failed), errBusy)
					}
				}
				begun := time.Now()
				err := p.Do(ctx, func(context.Context) error {
					if calls++; calls > 9 {
						t.Fatal("it does not end")
					}
					failed = time.Now()
					return test.errs[min(calls, len(test.errs))-1]
				})
				if err != test.want {
					t.Errorf("error %v, want %v", err, test.want)
				}
				if calls != test.calls || retried != test.retried {
					t.Errorf("%d calls, of which %d were reported: want %d and %d", calls, retried, test.calls, test.retried)
				}
				if took := time.Since(begun); test.want == errBusy && took != test.end {
					t.Errorf("it ended after %v, want %v", took, test.end)
				}
			})
		})
	}
}

// TestAnswer checks that the last answer is returned, and that a policy without Retryable repeats nothing. Without a Schedule, each call
// is a series of its own.
func TestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, p := range map[int]retry.Policy{1: {}, 3: policy} {
			for range 3 {
				calls, begun := 0, time.Now()
				got, err := retry.Answer(t.Context(), p, func(context.Context) (int, error) {
					if calls++; calls < 3 {
						return calls, errBusy
					}
					return calls, nil
				})
				if got != want || (err == nil) != (want == 3) {
					t.Errorf("answer %d, %v, want %d", got, err, want)
				}
				if took := time.Since(begun); took > 225*time.Millisecond {
					t.Errorf("pauses of %v, want the first two of a series", took)
				}
			}
		}
	})
}

// pause returns how long the next pause is.
func pause(ctx context.Context, t *testing.T, s *retry.Schedule) time.Duration {
	begun := time.Now()
	if !s.Pause(ctx) {
		t.Fatal("there is no pause")
	}
	return time.Since(begun)
}

// TestGrowth checks that pauses double from the first up to the longest, and that each
// varies by up to a half.
func TestGrowth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const first, longest, series = 50 * time.Millisecond, 2 * time.Second, 200
		parts := map[time.Duration][]float64{}
		for range series {
			s := retry.For(0)
			for want := first; want < 3*longest; want *= 2 {
				parts[want] = append(parts[want], float64(pause(t.Context(), t, s))/float64(min(want, longest)))
			}
		}
		for want, got := range parts {
			if least, most := slices.Min(got), slices.Max(got); least < 0.5 || least > 0.6 || most < 1.4 || most > 1.5 {
				t.Errorf("pauses of %v are %.2f to %.2f of it, want 0.5 to 1.5", min(want, longest), least, most)
			}
		}
	})
}

// TestNeverInStep checks that two series of pauses differ, unless their random numbers have the same seed.
func TestNeverInStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		series := func(ctx context.Context) (pauses [8]time.Duration) {
			s := retry.For(0)
			for i := range pauses {
				pauses[i] = pause(ctx, t, s)
			}
			return pauses
		}
		if a, b := series(t.Context()), series(t.Context()); a == b {
			t.Errorf("both series have the pauses %v", a)
		}
		seeded := func(seed uint64) context.Context { return random.Seed(t.Context(), 1, seed) }
		if a, b, c := series(seeded(1)), series(seeded(1)), series(seeded(2)); a != b || a == c {
			t.Errorf("one seed has the pauses %v and %v, and another %v", a, b, c)
		}
	})
}

// TestTimeout checks that the timeout counts from the first failure, also where an attempt takes longer.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for took, want := range map[time.Duration][2]int{time.Minute: {2, 2}, time.Second: {3, 4}, 0: {6, 10}} {
			calls := 0
			_ = policy.Within(3*time.Second).Do(t.Context(), func(context.Context) error {
				time.Sleep(took)
				if calls++; calls > want[1] {
					return nil
				}
				return errBusy
			})
			if calls < want[0] || calls > want[1] {
				t.Errorf("%d calls of %v each, want %d to %d", calls, took, want[0], want[1])
			}
		}
	})
}

// TestSharedSchedule checks that calls with one Schedule are one series, until Reset.
func TestSharedSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy.Within(3 * time.Second)
		do := func(failures int) (lasted time.Duration, err error) {
			begun := time.Now()
			err = p.Do(t.Context(), func(context.Context) error {
				if failures--; failures >= 0 {
					return errBusy
				}
				return nil
			})
			return time.Since(begun), err
		}
		for i := range 3 {
			if got, err := do(1); err != nil || got < 25*time.Millisecond<<i || got > 75*time.Millisecond<<i {
				t.Errorf("call %d paused for %v, %v, want a pause that is longer each time", i, got, err)
			}
		}
		time.Sleep(3 * time.Second)
		if got, err := do(1); err != errBusy || got != 0 {
			t.Errorf("after the timeout of the first failure: %v after %v, want %v at once", err, got, errBusy)
		}
		p.Schedule.Reset()
		if got, err := do(1); err != nil || got < 25*time.Millisecond || got > 75*time.Millisecond {
			t.Errorf("after Reset: a pause of %v, %v, want the first of a series", got, err)
		}
	})
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			s, begun := retry.Until(time.Now().Add(3*time.Second)), time.Now()
			for time.Since(begun) < time.Minute && s.Pause(t.Context()) {
				s.Reset() // a new series does not move the end
			}
			if took := time.Since(begun); took >= 3*time.Second || took < 2*time.Second {
				t.Fatalf("attempts begin for %v, want almost 3s", took)
			}
		}
	})
}

// TestEndInPause checks that a pause ends with its context, and that none begins after it.
func TestEndInPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		s, begun := retry.Between(time.Hour, time.Hour), time.Now()
		for range 2 {
			if s.Pause(ctx) || time.Since(begun) != 10*time.Millisecond {
				t.Errorf("it paused for %v, want until the end of its context", time.Since(begun))
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

type key struct{}

// TestOutlive checks that a context ends a grace period after that of the caller, also if that one has already ended.
func TestOutlive(t *testing.T) {
	for ended, want := range map[bool]time.Duration{false: time.Minute + time.Second, true: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			caller, end := context.WithTimeout(context.WithValue(t.Context(), key{}, "kept"), time.Minute)
			defer end()
			if ended {
				end()
			}
			lingering, cancel := retry.Outlive(caller, time.Second)
			defer cancel()
			if lingering.Value(key{}) != "kept" {
				t.Error("the caller's values are gone")
			}
			start := time.Now()
			<-lingering.Done()
			if got := time.Since(start); got != want {
				t.Errorf("it ended after %v, want %v", got, want)
			}
		})
	}
}

// TestOutliveCancelled checks that cancel ends the context at once and leaves nothing behind.
func TestOutliveCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller, end := context.WithCancel(t.Context())
		lingering, cancel := retry.Outlive(caller, time.Second)
		if lingering.Err() != nil {
			t.Error("it ended by itself")
		}
		cancel()
		if lingering.Err() == nil {
			t.Error("it goes on after cancel")
		}
		end()
		cancel()
	})
}
