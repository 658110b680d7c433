// Package progress shows the place of a command that waits for a lock: as lines for a log,
// as JSON for programs, or redrawn in place on a terminal.
//
// A View is what a wait looks like at an instant. Its forms are pure functions of a
// queuelock.Progress and of the time. A Reporter decides when to write one, and never
// delays the wait, however slow its output is.
//
//	| style  | writes                                                              |
//	|--------|---------------------------------------------------------------------|
//	| Plain  | a line at the start, at each change (every 10 s), and each minute   |
//	| JSON   | an object at the start, at each change (every 1 s), and each minute |
//	| Screen | up to three lines, redrawn each second and at each change           |
package progress

import (
	"fmt"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/ticket"
)

// View is a wait at an instant.
type View struct {
	Progress queuelock.Progress
	Seen     time.Time // when Progress was received
	Deadline time.Time // when the wait is given up; zero: never
}

// Line returns the view as one line for people.
func (v View) Line(now time.Time) string {
	line := "queuelock: " + v.place()
	if h := v.holder(now); h != "" {
		line += ", " + ansi.Truncate(h, 120, "…")
	}
	return display.Escape(line + "; " + v.times(now))
}

// Screen returns the view as up to three lines.
func (v View) Screen(now time.Time) string {
	text := "queuelock: " + v.place() + "\n"
	if h := v.holder(now); h != "" {
		text += "  " + h + "\n"
	}
	return text + "  " + v.times(now)
}

func (v View) place() string {
	key := v.Progress.Key
	key.Entity, key.Reason = ansi.Truncate(key.Entity, 60, "…"), ansi.Truncate(key.Reason, 30, "…")
	text := fmt.Sprintf("waiting for %s: position %d", key, v.Progress.Position)
	switch n := v.Progress.TicketsAhead; {
	case n == 1:
		text += ", 1 ticket ahead"
	case n > 1:
		text += fmt.Sprintf(", %d tickets ahead", n)
	}
	return text
}

func (v View) holder(now time.Time) string {
	h := v.Progress.Serving
	if h == nil {
		return ""
	}
	if h.Closed {
		return "closed until " + display.At(h.NotBefore) + " by ticket " + h.Ticket.Short()
	}
	text := fmt.Sprintf("held by %s (ticket %s", ansi.Truncate(display.Owner(h.Owner), 60, "…"), display.HolderTickets(*h, ticket.Number.Short))
	if h.Endless() {
		text += ", without a lease" // only an operator can end its turn
	}
	text += ")"
	if !h.Since.IsZero() {
		text += " for " + span(h.Age+now.Sub(v.Seen))
	}
	switch data, as := display.Data(h.Data); {
	case data == "":
	case as == "":
		text += ": " + data
	default:
		text += fmt.Sprintf(": %d bytes of data", len(h.Data)) // base64 says nothing in a line that is read at a glance
	}
	return text
}

func (v View) times(now time.Time) string {
	text := "waited " + span(v.waited(now))
	switch left, known := v.expected(now); {
	case known && left > 0:
		text += ", expected in about " + span(left)
	case known:
		text += ", expected at any time"
	}
	if !v.Deadline.IsZero() {
		text += ", gives up in " + span(max(0, v.Deadline.Sub(now)))
	}
	return text
}

func (v View) waited(now time.Time) time.Duration { return v.Progress.Waited + now.Sub(v.Seen) }

// expected returns the time until the turn is expected, and whether that is known. Zero: at any time.
func (v View) expected(now time.Time) (left time.Duration, known bool) {
	return max(0, v.Progress.EstimatedWait-now.Sub(v.Seen)), v.Progress.Estimated
}

func (v View) changed(before View) bool {
	a, b := v.Progress, before.Progress
	if a.Key != b.Key || a.Position != b.Position || (a.Serving == nil) != (b.Serving == nil) {
		return true
	}
	return a.Serving != nil && (a.Serving.Turn() != b.Serving.Turn() || a.Serving.Closed != b.Serving.Closed)
}

// object is the view for programs. Unknown values are null.
type object struct {
	Event    string          `json:"event" help:"waiting"`
	Time     time.Time       `json:"time" help:"when this was written"`
	Entity   string          `json:"entity" help:"the entity"`
	Reason   string          `json:"reason" help:"what the lock is for"`
	Ticket   string          `json:"ticket" help:"the ticket of this waiter"`
	Position int             `json:"position" help:"1 is the next"`
	Ahead    int             `json:"tickets_ahead" help:"how many tickets are before it"`
	Waited   float64         `json:"waited_seconds" help:"how long it has waited"`
	Expected *float64        `json:"expected_seconds" help:"until its turn; 0: at any time"`
	Deadline *time.Time      `json:"deadline" help:"when the wait is given up"`
	Holder   *display.Holder `json:"holder" help:"the present holder"`
}

// JSON returns the view as one object, in one line.
func (v View) JSON(now time.Time) string {
	p := v.Progress
	o := object{
		Event: "waiting", Time: now.UTC(), Entity: p.Key.Entity, Reason: p.Key.Reason, Ticket: p.Ticket.String(),
		Position: p.Position, Ahead: p.TicketsAhead, Waited: display.Seconds(v.waited(now)),
	}
	if left, known := v.expected(now); known {
		o.Expected = new(display.Seconds(left))
	}
	if !v.Deadline.IsZero() {
		o.Deadline = new(v.Deadline.UTC())
	}
	if p.Serving != nil {
		h := *p.Serving
		h.Age += now.Sub(v.Seen) // Remaining stays: the lease may have been renewed since
		o.Holder = new(display.NewHolder(h))
	}
	return encode(o)
}

// Outcome is the end of a wait for programs.
type Outcome struct {
	Event    string    `json:"event" help:"acquired, not_acquired or kept"`
	Time     time.Time `json:"time" help:"when this was written"`
	Entities []string  `json:"entities" help:"the entities"`
	Tickets  []string  `json:"tickets" help:"their tickets"`
	Waited   float64   `json:"waited_seconds" help:"how long it has waited"`
	Why      *Why      `json:"why" help:"busy, full or superseded"`
	By       *string   `json:"superseded_by" help:"the later ticket"`
	Message  string    `json:"message,omitempty" help:"why the lock was not acquired, else absent"`
	Place    *Place    `json:"place,omitempty" help:"what is kept, else absent"`
}

// Place is a place in the queue that is kept.
type Place struct {
	Position int        `json:"position" help:"1 is the next; 0: not known"`
	Until    *time.Time `json:"kept_until" help:"until when at least"`
	Expected *float64   `json:"expected_seconds" help:"until its turn; 0: at any time"`
	Handle   string     `json:"handle" help:"of the place, for the next call"`
	Next     string     `json:"next" help:"what to do next"`
}

// Why is why a lock was not acquired.
type Why string

// The reasons.
const (
	Busy       Why = "busy"       // the wait is over
	Full       Why = "full"       // as many wait as may
	Superseded Why = "superseded" // a later waiter has come
)

// JSON returns the end as one object, in one line.
func (o Outcome) JSON() string { return encode(o) }

func encode(o any) string {
	text, err := display.Marshal(o)
	if err != nil {
		return "{}" // text, numbers and times of this century have no such error
	}
	return string(text)
}

// span returns a duration in whole seconds.
func span(d time.Duration) string { return display.Age(d.Truncate(time.Second)) }

type outage struct {
	Event   string    `json:"event" help:"unavailable: requests fail; available: they do no more"`
	Time    time.Time `json:"time" help:"when this was written"`
	Message string    `json:"message" help:"what is wrong, or for how long it was"`
}

// Objects returns a zero value of each object that is written for programs: those of a wait, of an outage in it, and of its end.
func Objects() (waiting, outageOf, end any) { return object{}, outage{}, Outcome{} }
