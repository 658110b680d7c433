//go:build race

package locktest

// UnderRace reports whether the race detector runs.
const UnderRace = true
