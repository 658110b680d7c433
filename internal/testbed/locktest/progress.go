package locktest

import (
	"fmt"
	"sync"

	"github.com/queuelock/queuelock"
)

// ProgressLog keeps what OnProgress receives.
type ProgressLog struct {
	mu  sync.Mutex
	all []queuelock.Progress
}

// Add is the function for OnProgress.
func (w *ProgressLog) Add(p queuelock.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, p)
}

// Seen returns what was received so far.
func (w *ProgressLog) Seen() []queuelock.Progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]queuelock.Progress(nil), w.all...)
}

// Places returns what was received in short form: position, tickets ahead, holder.
func (w *ProgressLog) Places() string {
	s := ""
	for _, p := range w.Seen() {
		owner := "none"
		if p.Serving != nil {
			owner = p.Serving.Owner
		}
		s += fmt.Sprintf("%d/%d %s; ", p.Position, p.TicketsAhead, owner)
	}
	return s
}
