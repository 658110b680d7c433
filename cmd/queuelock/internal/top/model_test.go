package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var (
	n   = ticket.FromUint64
	now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// held is a queue with a holder of that age, and waiters of these ages.
func held(entity string, age time.Duration, waits ...time.Duration) *queue.State {
	s := &queue.State{Entity: entity, Reason: "lock", Issued: n(12), Serving: []queue.Holder{
		{Ticket: n(12), ID: entity, Owner: "vm:1", Since: now, Age: age, Remaining: time.Minute, Lease: queue.Lease{TTL: time.Minute}},
	}}
	for i, wait := range waits {
		number := 13 + i
		s.Waiting = append(s.Waiting, queue.Waiter{Position: i + 1, Ticket: n(uint64(number)), ID: fmt.Sprint(number), Owner: fmt.Sprint("vm:", number), Age: wait, Remaining: time.Second, Lease: queue.Lease{TTL: 15 * time.Second}})
	}
	return s
}

func idle(entity string) *queue.State {
	return &queue.State{Entity: entity, Reason: "lock", Issued: n(3)}
}

func scanned(states ...*queue.State) Scanned {
	s := Scanned{At: now, Units: 20, Passed: 2 * time.Second}
	for _, state := range states {
		line := display.NewLine(state, nil)
		s.Lines = append(s.Lines, line)
		if s.Total++; line.State != display.Idle {
			s.Busy++
		}
	}
	return s
}

// play applies messages to a new model of 80 by 24, and returns the effects of the last.
func play(msgs ...any) (Model, []Effect) {
	m := Model{Table: "queuelock", Rate: 100, now: now}
	var effects []Effect
	for _, msg := range append([]any{Resized{80, 24}}, msgs...) {
		m, effects = m.Update(msg)
	}
	return m, effects
}

func screen(m Model) string {
	lines, _, _ := m.View()
	return strings.Join(lines, "\n")
}
