//go:build race

package sim_test

// usualSeeds is how many seeds are run, usualMinutes how long each is simulated,
// usualReplays how many seeds are compared, and of usualPast seeds of past mistakes one
// is run. All is less under the race detector, which makes a run some five times as
// slow. "make sim" runs the whole.
const usualSeeds, usualMinutes, usualReplays, usualPast = 2, 1, 1, 12
