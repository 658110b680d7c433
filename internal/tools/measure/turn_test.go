package main

import "testing"

func TestTurn(t *testing.T) {
	frames, err := turn(t.Context(), func() {})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range requests {
		if frames[name] < 2 {
			t.Errorf("%s: %d calls", name, frames[name])
		}
	}
	if len(frames) != len(requests) {
		t.Errorf("requests %v, want %v", frames, requests)
	}
}

// TestWaiters checks that what waits is counted: a caller's goroutine cannot be without a stack.
func TestWaiters(t *testing.T) {
	bytes, goroutines, err := waiters(t.Context(), 50)
	if err != nil || bytes < 2_000 || goroutines < 1 {
		t.Errorf("waiters() = %g, %g, %v", bytes, goroutines, err)
	}
}
