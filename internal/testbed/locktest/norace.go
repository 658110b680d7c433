//go:build !race

package locktest

import "testing"

// UnderRace reports whether the race detector runs, which makes a test take
// some five times as long.
const UnderRace = false

// Scaled returns the whole size of a test. A reduced size is used under the race detector, and with -short.
func Scaled[N any](whole, reduced N) N {
	if testing.Short() {
		return reduced
	}
	return whole
}

// Some returns the cases of a test that measures simulated time. The race detector is given some of them, and -short.
func Some[C any](cases []C) []C {
	if testing.Short() {
		return some(cases)
	}
	return cases
}
