//go:build !race

package queuelock_test

const underRace = false
