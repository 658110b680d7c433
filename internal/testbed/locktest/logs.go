package locktest

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/queuelock/queuelock"
)

// Journal keeps what a client logs.
type Journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (j *Journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// Logger returns a logger that writes into the journal.
func (j *Journal) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// Says reports whether the words were logged.
func (j *Journal) Says(words string) bool { return j.Count(words) > 0 }

// Count returns how often the words were logged.
func (j *Journal) Count(words string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), words)
}

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
