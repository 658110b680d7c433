package top

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/queuelock/queuelock"
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

// press is the message of a key.
func press(name string) tea.Msg { return tea.KeyPressMsg{Text: name} }

// update applies a message, and returns what was then sent: a key is looked at, an eviction, or tea.QuitMsg.
func update(m Model, msg tea.Msg) (Model, []any) {
	var sent []any
	m.Inspect = func(_ context.Context, key queuelock.Key) (*queue.State, error) {
		sent = append(sent, key)
		return idle(key.Entity), nil
	}
	m.Evict = func(_ context.Context, e Evict) (queue.Holder, error) {
		sent = append(sent, e)
		return e.Holder, nil
	}
	next, cmd := m.Update(msg)
	if cmd != nil {
		if quit, ok := cmd().(tea.QuitMsg); ok {
			sent = append(sent, quit)
		}
	}
	return next.(Model), sent
}

// play applies messages to a new model of 80 by 24, and returns what was sent after the last.
func play(msgs ...tea.Msg) (Model, []any) {
	m := Model{Config: Config{Table: "queuelock", Rate: 100}, now: now, meter: new(meter)}
	var sent []any
	for _, msg := range append([]tea.Msg{tea.WindowSizeMsg{Width: 80, Height: 24}}, msgs...) {
		m, sent = update(m, msg)
	}
	return m, sent
}

func screen(m Model) string {
	var texts []string
	for _, l := range m.lines() {
		texts = append(texts, l.text)
	}
	return strings.Join(texts, "\n")
}

// shows checks that the screen contains each of the parts.
func shows(t *testing.T, m Model, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(screen(m), part) {
			t.Errorf("no %q in\n%s", part, screen(m))
		}
	}
}

// hides checks that the screen contains none of the parts.
func hides(t *testing.T, m Model, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(screen(m), part) {
			t.Errorf("%q in\n%s", part, screen(m))
		}
	}
}
