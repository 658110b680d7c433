package locktest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/queuelock/queuelock/queuelocktest"
)

// InBubble runs a subtest in a bubble of its own.
func InBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// WithTable runs the rest of a test in a bubble, with a table.
func WithTable(t *testing.T, f func(t *testing.T, table *queuelocktest.Table), opts ...queuelocktest.Option) {
	synctest.Test(t, func(t *testing.T) { f(t, queuelocktest.NewTable(t, opts...)) })
}

// InTable runs a subtest in a bubble of its own, with a table.
func InTable(t *testing.T, name string, f func(t *testing.T, table *queuelocktest.Table), opts ...queuelocktest.Option) {
	t.Run(name, func(t *testing.T) { WithTable(t, f, opts...) })
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

// OK ends the test if there is an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Check fails the test if there is an error, and lets it go on.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// Is fails the test if an error does not match the wanted one.
func Is(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}

// Must returns v, and panics on an error. It is for steps that a test needs but
// does not test.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("a step of the schedule failed: %v", err))
	}
	return v
}

// Scaled returns the whole size of a test, or the reduced one: under the race detector, and with -short.
func Scaled[N any](whole, reduced N) N {
	if UnderRace || testing.Short() {
		return reduced
	}
	return whole
}

// Some returns the cases of a test that measures simulated time. Of these the race detector, which gains little by them, is
// given each fourth, and -short.
func Some[C any](cases []C) (few []C) {
	for i := 0; i < len(cases); i += Scaled(1, 4) {
		few = append(few, cases[i])
	}
	return few
}
