//go:build race

package queuelock_test

// underRace says that the race detector watches, which makes a test take some
// five times as long.
const underRace = true
