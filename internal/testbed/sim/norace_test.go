//go:build !race

package sim_test

const usualMinutes, usualReplays = 10, 4
