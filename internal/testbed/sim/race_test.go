//go:build race

package sim_test

// usualMinutes is how long a run is simulated: less under the race detector,
// which makes it some five times as slow. "make sim" runs the whole.
const usualMinutes = 4
