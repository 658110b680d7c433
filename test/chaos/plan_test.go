package chaos

import (
	"slices"
	"testing"
	"time"
)

const ttl = 2 * time.Second

// TestPlanOfSeed checks that a plan is a function of its seed.
func TestPlanOfSeed(t *testing.T) {
	a, b := Plan(1, time.Minute, ttl, 16, 4), Plan(1, time.Minute, ttl, 16, 4)
	if !slices.Equal(a, b) {
		t.Error("one seed, two plans")
	}
	if slices.Equal(a, Plan(2, time.Minute, ttl, 16, 4)) {
		t.Error("two seeds, one plan")
	}
	longer := Plan(1, 2*time.Minute, ttl, 16, 4)
	if len(longer) <= len(a) || !slices.Equal(a, longer[:len(a)]) {
		t.Error("a longer plan does not begin like a shorter one")
	}
}

// TestPlan checks that a plan has every kind and keeps its bounds.
func TestPlan(t *testing.T) {
	for seed := range uint64(100) {
		seen := map[Kind]int{}
		last := time.Duration(0)
		for _, s := range Plan(seed, 45*time.Second, ttl, 16, 4) {
			seen[s.Kind]++
			switch {
			case s.At < last, s.At >= 45*time.Second:
				t.Errorf("seed %d: out of order or time: %+v", seed, s)
			case s.Kind == StopWorker && s.Length <= ttl:
				t.Errorf("seed %d: a stop within the lease: %+v", seed, s)
			case s.Follows && !s.Holder:
				t.Errorf("seed %d: a turn that follows, of no holder: %+v", seed, s)
			case s.Worker < 0 || s.Worker >= 16 || s.Entity < 0 || s.Entity >= 4:
				t.Errorf("seed %d: no worker there: %+v", seed, s)
			}
			last = s.At
		}
		for kind := range kindNames {
			if seen[Kind(kind)] == 0 {
				t.Errorf("seed %d: no %v", seed, Kind(kind))
			}
		}
	}
}
