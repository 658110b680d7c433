//go:build !race

package locktest

// UnderRace reports whether the race detector runs, which makes a test take
// some five times as long.
const UnderRace = false

// Scaled returns the whole size of a test. A reduced size is used under the race
// detector.
func Scaled[N any](whole, _ N) N { return whole }

// Some returns the cases of a test that measures simulated time. The race detector is given some of them.
func Some[C any](cases []C) []C { return cases }
