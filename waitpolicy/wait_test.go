package waitpolicy_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/waitpolicy"
)

func TestWaitsReadAndPrintWithoutLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := waitpolicy.For(time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "wait")))
		again, err := waitpolicy.Parse(w.String())
		if err != nil || again != w {
			t.Fatalf("Parse(%q) = %v, %v, want %v", w, again, err, w)
		}
		limit, limited := w.Limit()
		if !limited || waitpolicy.For(limit) != w || w.Validate() != nil || w.IsNoWait() != (limit == 0) {
			t.Fatalf("%v has limit %v, %v, is valid: %v, NoWait: %v", w, limit, limited, w.Validate(), w.IsNoWait())
		}
	})
}

func TestWaitsHaveTheFormsOfTheCommandLine(t *testing.T) {
	for s, want := range map[string]waitpolicy.Wait{
		"forever": waitpolicy.Forever, "0": waitpolicy.NoWait, "0s": waitpolicy.NoWait, "60s": waitpolicy.For(time.Minute),
		"1m": waitpolicy.For(time.Minute), "1h30m": waitpolicy.For(90 * time.Minute), "50ms": waitpolicy.For(50 * time.Millisecond),
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

func TestWaitsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, s := range []string{"", "60", "never", "Forever", "-1s", "-1ns", "1 s", "1e3s", "10000000h"} {
		if w, err := waitpolicy.Parse(s); err == nil || s != "" && !strings.Contains(err.Error(), strings.TrimPrefix(s, "-")) {
			t.Errorf("Parse(%q) = %v, %v, want an error that names it", s, w, err)
		}
	}
	if err := waitpolicy.For(-time.Second).Validate(); err == nil || !strings.Contains(err.Error(), "-1s") {
		t.Errorf("a negative wait gave %v", err)
	}
}
