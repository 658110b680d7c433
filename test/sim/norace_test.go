//go:build !race

package sim_test

const usualSeeds, usualMinutes, usualReplays, usualPast = 6, 10, 4, 1
