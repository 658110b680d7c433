package process

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Lines prints lines without waiting for the reader, which may not read: a terminal that is
// held by Ctrl-S, or a pipe that is full. What ends a command in time must not depend on it.
type Lines struct {
	queue  chan string
	closed chan struct{}
	once   sync.Once
}

const (
	maxLines  = 64          // that wait for the reader; others are left out
	lineGrace = time.Second // for which Close waits
)

// NewLines returns Lines that print to w.
func NewLines(w io.Writer) *Lines {
	l := &Lines{queue: make(chan string, maxLines), closed: make(chan struct{})}
	go func() {
		defer close(l.closed)
		for line := range l.queue {
			fmt.Fprintln(w, line)
		}
	}()
	return l
}

// Print prints a line soon. Do not call it after Close.
func (l *Lines) Print(line string) {
	select {
	case l.queue <- line:
	default:
	}
}

// Close waits until all is printed, but not for long.
func (l *Lines) Close() {
	l.once.Do(func() { close(l.queue) })
	select {
	case <-l.closed:
	case <-time.After(lineGrace):
	}
}
