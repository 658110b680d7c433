package locktest

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
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
