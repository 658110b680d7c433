package waitpolicy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/waitpolicy"
)

// TestWaitForms checks that waits have the forms of the command line.
func TestWaitForms(t *testing.T) {
	for s, want := range map[string]waitpolicy.Wait{
		"forever": waitpolicy.Forever, "0": waitpolicy.NoWait, "0s": waitpolicy.NoWait, "60s": waitpolicy.For(time.Minute),
		"1m": waitpolicy.For(time.Minute), "1h30m": waitpolicy.For(90 * time.Minute), "50ms": waitpolicy.For(50 * time.Millisecond),
		"5x2s": waitpolicy.Attempts(5, 2*time.Second), "2x1m30s": waitpolicy.Attempts(2, 90*time.Second), "1x5s": waitpolicy.NoWait,
	} {
		if got, err := waitpolicy.Parse(s); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	if waitpolicy.Forever.String() != "forever" || waitpolicy.NoWait.String() != "0" || waitpolicy.For(time.Minute).String() != "1m0s" {
		t.Errorf("printed as %v, %v, %v", waitpolicy.Forever, waitpolicy.NoWait, waitpolicy.For(time.Minute))
	}
	if _, limited := waitpolicy.Forever.Limit(); limited || waitpolicy.Forever.IsNoWait() || waitpolicy.Forever.Validate() != nil {
		t.Error("Forever has a limit, or is none")
	}
	if (waitpolicy.Wait{}) != waitpolicy.NoWait || waitpolicy.For(0) != waitpolicy.NoWait {
		t.Error("the zero Wait is not NoWait")
	}
}

func TestInvalidWaits(t *testing.T) {
	for _, s := range []string{"", "60", "never", "Forever", "-1s", "-1ns", "1 s", "1e3s", "10000000h", "x", "5x", "x5s", "5 x 1s", "5x2", "1.5x2s", "5x2sx"} {
		if w, err := waitpolicy.Parse(s); err == nil || s != "" && !strings.Contains(err.Error(), strings.TrimPrefix(s, "-")) {
			t.Errorf("Parse(%q) = %v, %v, want an error that names it", s, w, err)
		}
	}
	for s, w := range map[string]waitpolicy.Wait{
		"0x1s": waitpolicy.Attempts(0, time.Second), "-3x1s": waitpolicy.Attempts(-3, time.Second), "-1x0s": waitpolicy.Attempts(-1, 0),
		"1x-1s": waitpolicy.Attempts(1, -time.Second), "2x0s": waitpolicy.Attempts(2, 0), "5x-1s": waitpolicy.Attempts(5, -time.Second),
		"2x999.999µs": waitpolicy.Attempts(2, time.Millisecond-1),
	} {
		if err := w.Validate(); err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("%s: %v, want an error that names it", s, err)
		}
		if got, err := waitpolicy.Parse(s); err == nil {
			t.Errorf("Parse(%q) = %v", s, got)
		}
		if w.IsNoWait() {
			t.Errorf("%s is NoWait", s)
		}
	}
	if err := waitpolicy.For(-time.Second).Validate(); err == nil || !strings.Contains(err.Error(), "-1s") {
		t.Errorf("a negative wait gave %v", err)
	}
}
