package locktest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// InBubble runs a subtest in a bubble of its own.
func InBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// Says checks that an error is one line and contains all of the words.
func Says(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one that says %q", words)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q is more than one line", err)
	}
}

// Ptr returns a pointer to a copy of v.
func Ptr[T any](v T) *T { return &v }

// Must returns v, and panics on an error. It is for steps that a test needs but
// does not test.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("a step of the schedule failed: %v", err))
	}
	return v
}
