//go:build race

package locktest

// UnderRace reports whether the race detector runs, which makes a test take
// some five times as long.
const UnderRace = true
