package proxy

import "time"

// line delays what passes by a fixed time. What enters first leaves first.
type line struct {
	delay   time.Duration
	waiting chan ticket
}

type ticket struct {
	due  time.Time
	done chan struct{}
}

// newLine starts a line, which ends with close(waiting).
func newLine(delay time.Duration) *line {
	l := &line{delay: delay, waiting: make(chan ticket, 1<<16)}
	go l.run()
	return l
}

func (l *line) run() {
	clock := newClock()
	defer clock.close()
	for t := range l.waiting {
		clock.sleepUntil(t.due)
		close(t.done)
	}
}

// pass returns after the delay.
func (l *line) pass() {
	if l.delay <= 0 {
		return
	}
	t := ticket{time.Now().Add(l.delay), make(chan struct{})}
	l.waiting <- t
	<-t.done
}
