package sim

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// history is what happened, in order, for a person to read. It is the run's
// fingerprint too: two runs of one seed have the same.
type history struct {
	start time.Time
	diary *diary

	mu         sync.Mutex
	lines      []string       // guarded by mu
	violations []string       // guarded by mu
	faults     map[string]int // guarded by mu; by kind
	tally      map[string]int // guarded by mu; what workers did
	peak       int            // guarded by mu; most requests of one process within a second
	disturbed  int64          // guarded by mu; when the last fault began that may delay a turn; zero: none did
}

func newHistory() *history {
	return &history{start: time.Now(), faults: map[string]int{}, tally: map[string]int{}}
}

func (h *history) add(who, format string, args ...any) {
	line := fmt.Sprintf("%12.6fs  %-8s ", time.Since(h.start).Seconds(), who) + fmt.Sprintf(format, args...)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, line)
}

// violate notes that something which must never happen did.
func (h *history) violate(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	h.add("", "VIOLATION: %s", what)
	h.diary.violated(what)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.violations = append(h.violations, what)
}

// harm counts a fault.
func (h *history) harm(kind string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults[kind]++
	if !harmless[kind] {
		h.disturbed = h.now()
	}
}

// did counts what a worker did.
func (h *history) did(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tally[what]++
}

// harmless are the faults that delay no turn.
var harmless = map[string]bool{"bell lost": true, "bell delayed": true, "bell repeated": true, "bell forged": true}

// wasDisturbed reports whether a fault has begun since then.
func (h *history) wasDisturbed(since int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.disturbed > max(since, 0)
}

// most notes how many requests a process has sent within a second.
func (h *history) most(peak int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.peak = max(h.peak, peak)
}

func (h *history) now() int64 { return int64(time.Since(h.start)) }

func (h *history) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.lines, "\n")
}
