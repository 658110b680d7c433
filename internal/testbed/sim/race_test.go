//go:build race

package sim_test

// usualMinutes is how long a run is simulated, and usualReplays how many seeds are
// compared: less under the race detector, which makes a run some five times as
// slow. "make sim" runs the whole.
const usualMinutes, usualReplays = 2, 2
