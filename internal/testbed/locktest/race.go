//go:build race

package locktest

// UnderRace reports whether the race detector runs, which makes a test take
// some five times as long.
const UnderRace = true

// Scaled returns the size of a test under the race detector. The whole size is
// used without it.
func Scaled[N any](_, reduced N) N { return reduced }

// Some returns some of the cases of a test that measures simulated time, as the race detector gains little by the others.
// All are run without it.
func Some[C any](cases []C) []C { return some(cases) }
