//go:build !race

package sim_test

const usualMinutes, usualReplays, usualPast = 10, 4, 1
