// Package stats reduces measurements to numbers.
package stats

import (
	"math"
	"slices"
	"time"
)

// Mean returns the mean, and NaN of nothing.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Quantile returns the smallest value that is at least as large as the share q of all.
// NaN of nothing.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Median returns the middle value, or the mean of the two in the middle.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Milliseconds converts durations.
func Milliseconds(durations []time.Duration) []float64 {
	ms := make([]float64, len(durations))
	for i, d := range durations {
		ms[i] = d.Seconds() * 1000
	}
	return ms
}
