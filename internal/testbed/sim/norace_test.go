//go:build !race

package sim_test

const usualMinutes = 10
