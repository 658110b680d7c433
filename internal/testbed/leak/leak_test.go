package leak

import (
	"strings"
	"testing"
	"time"
)

type tests func() int

func (run tests) Run() int { return run() }

// TestLeftGoroutine checks that a goroutine which stays is a failure with its stack, and one that ends soon is not.
func TestLeftGoroutine(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	stays := func() {
		defer close(stopped)
		<-stop
	}
	leaves := tests(func() int { go stays(); return 0 })
	var out strings.Builder
	if code := run(leaves, &out, 10*time.Millisecond); code != 1 || !strings.Contains(out.String(), "TestLeftGoroutine.func1") {
		t.Errorf("exit code %d:\n%s", code, out.String())
	}
	out.Reset()
	if code := run(tests(func() int { return 0 }), &out, 0); code != 0 || out.Len() > 0 {
		t.Errorf("a goroutine of earlier: exit code %d:\n%s", code, out.String())
	}
	close(stop)
	<-stopped

	soon := make(chan struct{})
	ends := tests(func() int {
		go func() { <-soon }()
		time.AfterFunc(20*time.Millisecond, func() { close(soon) })
		return 0
	})
	if code := run(ends, &out, time.Minute); code != 0 || out.Len() > 0 {
		t.Errorf("a goroutine that ends: exit code %d:\n%s", code, out.String())
	}
}

// TestFailedTests checks that failed tests keep their exit code.
func TestFailedTests(t *testing.T) {
	var out strings.Builder
	if code := run(tests(func() int { return 3 }), &out, 0); code != 3 || out.Len() > 0 {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}
