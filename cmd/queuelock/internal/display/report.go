package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// The states of a queue.
const (
	Held    = "held"
	Waiting = "waiting" // waiters, and no holder
	Idle    = "idle"
	Unused  = "unused" // there is no such queue
	// Unreadable is only in lists: another program wrote the record.
	Unreadable = "unreadable"
)

// StateOf returns which of the states a queue is in.
func StateOf(s *queue.State) string {
	switch {
	case len(s.Serving) > 0:
		return Held
	case len(s.Waiting) > 0:
		return Waiting
	case s.Issued.IsZero():
		return Unused
	}
	return Idle
}

// Report is a queue's state for machines.
type Report struct {
	Entity   string    `json:"entity"`
	Reason   string    `json:"reason"`
	State    string    `json:"state"`
	Issued   string    `json:"issued"`
	Scope    *string   `json:"scope"`   // of a queue that was used
	Permits  *int      `json:"permits"` // likewise
	ReadAt   time.Time `json:"read_at"`
	Serving  []Holder  `json:"serving"`
	Waiting  []Waiter  `json:"waiting"`
	HoldTime *HoldTime `json:"hold_time"` // of a queue in which turns have ended
}

// HoldTime is how long recent holders had the lock.
type HoldTime struct {
	Mean      float64 `json:"mean_seconds"`
	Deviation float64 `json:"deviation_seconds"`
}

// Holder is a holder for machines.
type Holder struct {
	Ticket string     `json:"ticket"`
	ID     string     `json:"id"`
	Beat   *int64     `json:"beat"` // null if it cannot be read
	Owner  string     `json:"owner"`
	Shared bool       `json:"shared"`
	Since  *time.Time `json:"since"`
	Age    *float64   `json:"age_seconds"`
	// Without a lease, or if it cannot be read, the three are null.
	Remaining  *float64 `json:"remaining_seconds"`
	TTL        *float64 `json:"ttl_seconds"`
	Delay      *float64 `json:"delay_seconds"`
	FailClosed bool     `json:"fail_closed"`
	Expired    bool     `json:"expired"`
	Data       *string  `json:"data"`
	Base64     []byte   `json:"data_base64"`
	Problem    *string  `json:"problem"`
}

// Waiter is a waiter for machines.
type Waiter struct {
	Position int    `json:"position"`
	Ticket   string `json:"ticket"`
	// With a problem, the five are null.
	ID        *string  `json:"id"`
	Beat      *int64   `json:"beat"`
	Owner     *string  `json:"owner"`
	Shared    *bool    `json:"shared"`
	Age       *float64 `json:"age_seconds"`
	Remaining float64  `json:"remaining_seconds"`
	TTL       float64  `json:"ttl_seconds"`
	Expired   bool     `json:"expired"`
	Problem   *string  `json:"problem"`
}

// NewReport returns the state for machines.
func NewReport(s *queue.State) Report {
	r := Report{
		Entity: s.Entity, Reason: s.Reason, State: StateOf(s), Issued: s.Issued.String(), ReadAt: s.ReadAt.UTC(),
		Serving: []Holder{}, Waiting: []Waiter{},
	}
	if !s.Issued.IsZero() {
		scope := Scope(s.Scope)
		r.Scope, r.Permits = &scope, &s.Permits
	}
	r.HoldTime = newHoldTime(s)
	for _, h := range s.Serving {
		r.Serving = append(r.Serving, newHolder(h))
	}
	for _, w := range s.Waiting {
		r.Waiting = append(r.Waiting, newWaiter(w))
	}
	return r
}

// newHoldTime returns nil if it is not known.
func newHoldTime(s *queue.State) *HoldTime {
	if s.HoldTime == (queue.HoldTime{}) {
		return nil
	}
	return &HoldTime{Seconds(s.HoldTime.Mean), Seconds(s.HoldTime.Deviation)}
}

func newHolder(h queue.Holder) Holder {
	holder := Holder{
		Ticket: h.Ticket.String(), ID: h.ID, Owner: h.Owner, Shared: h.Shared,
		FailClosed: h.Endless(), Expired: h.Remaining <= 0, Base64: h.Data,
	}
	if h.Problem != nil {
		problem := h.Problem.Error()
		holder.Problem = &problem
	}
	if h.TTL > 0 || h.Endless() {
		holder.Beat = &h.Beat
	}
	if h.TTL > 0 {
		remaining, ttl, delay := tenths(h.Remaining), Seconds(h.TTL), Seconds(h.Delay)
		holder.Remaining, holder.TTL, holder.Delay = &remaining, &ttl, &delay
	}
	if text := string(h.Data); text != "" && utf8.ValidString(text) {
		holder.Data = &text
	}
	if !h.Since.IsZero() {
		since, age := h.Since.UTC(), tenths(h.Age)
		holder.Since, holder.Age = &since, &age
	}
	return holder
}

func newWaiter(w queue.Waiter) Waiter {
	waiter := Waiter{
		Position: w.Position, Ticket: w.Ticket.String(),
		Remaining: tenths(w.Remaining), TTL: Seconds(w.TTL), Expired: w.Remaining <= 0,
	}
	if w.Problem != nil {
		problem := w.Problem.Error()
		waiter.Problem = &problem
		return waiter
	}
	age := tenths(w.Age)
	waiter.ID, waiter.Beat, waiter.Owner, waiter.Shared, waiter.Age = &w.ID, &w.Beat, &w.Owner, &w.Shared, &age
	return waiter
}

// Seconds returns a duration in seconds, to the millisecond. Duration.Seconds adds two rounded numbers, which makes
// 5.6129999999999995 of 5.613.
func Seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond).Milliseconds()) / 1000
}

// tenths is Seconds of an age. DynamoDB's clock is not known any better.
func tenths(d time.Duration) float64 { return Seconds(d.Round(100 * time.Millisecond)) }

// Scope returns a scope's name on the command line.
func Scope(s ticket.Scope) string {
	switch s {
	case ticket.ScopeQueue:
		return "queue"
	case ticket.ScopeEntity:
		return "entity"
	case ticket.ScopeTable:
		return "table"
	}
	return s.String()
}

// JSON prints a value as one line.
func JSON(w io.Writer, value any) error {
	text, err := Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// YAML prints a value as a document, with the names and the order of its JSON.
func YAML(w io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(escapeUnprintable(text, inYAML), &document); err != nil {
		return err
	}
	inBlocks(&document)
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return err
	}
	_, err = w.Write(escapeUnprintable(b.Bytes(), inYAML))
	return err
}

// inYAML is a character in a text with quotes.
func inYAML(r rune) string { return fmt.Sprintf(`\U%08x`, r) }

// inBlocks removes the style of JSON. Empty lists keep their brackets, and texts that need
// escapes their quotes.
func inBlocks(n *yaml.Node) {
	n.Style = 0
	if strings.ContainsFunc(n.Value, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		inBlocks(child)
	}
}
