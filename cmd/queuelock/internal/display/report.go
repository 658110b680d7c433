package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

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
	switch _, closed := closing(s); {
	case closed:
		return Closed
	case len(queue.Turns(s.Serving)) > 0:
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
	Entity   string    `json:"entity" help:"the entity"`
	Reason   string    `json:"reason" help:"what the lock is for"`
	State    string    `json:"state" help:"held, closed, waiting, idle or unused"`
	Issued   string    `json:"issued" help:"the last ticket"`
	Scope    *string   `json:"scope" help:"queue, entity or table"`
	Permits  *int      `json:"permits" help:"how many may hold at once; 0: a lock"`
	ReadAt   time.Time `json:"read_at" help:"when the queue was read"`
	Serving  []Holder  `json:"serving" help:"the holders, in the order of their tickets"`
	Waiting  []Waiter  `json:"waiting" help:"the waiters, in order"`
	HoldTime *HoldTime `json:"hold_time" help:"how long recent holders had the lock"`
	Result   *Result   `json:"result" help:"what a holder has left for its waiters"`
	Loss     *Loss     `json:"last_eviction" help:"the last turn that its holder lost: its lease was over, or it was evicted or resumed"`
	Limit    *int      `json:"max_waiters" help:"the limit of the last waiter that has one"`
	Full     bool      `json:"full" help:"as many wait as that allows"`
}

// Result is the result of a holder for machines.
type Result struct {
	Ticket  string     `json:"ticket" help:"the ticket of the holder"`
	Bytes   int        `json:"bytes" help:"its size"`
	Until   *time.Time `json:"until" help:"when it is too old; null: not known"`
	Problem *string    `json:"problem" help:"why it cannot be read"`
}

// HoldTime is how long recent holders had the lock.
type HoldTime struct {
	Mean      float64 `json:"mean_seconds" help:"on average"`
	Deviation float64 `json:"deviation_seconds" help:"the mean deviation from that"`
}

// Holder is a holder for machines.
type Holder struct {
	Ticket string     `json:"ticket" help:"the ticket"`
	Turn   string     `json:"turn" help:"of a block: the ticket of its turn, as the last heartbeat has shown it"`
	Follow int        `json:"follow" help:"how many tickets of its block come after that"`
	ID     string     `json:"id" help:"an id that is never used again"`
	Beat   *int64     `json:"beat" help:"how often the lease was renewed"`
	Owner  string     `json:"owner" help:"the name of the process"`
	Shared bool       `json:"shared" help:"together with other shared holders"`
	Group  *string    `json:"group" help:"the waiters of which the latest stays"`
	Slot   *int       `json:"slot" help:"of a semaphore: the number of its permit, from 0"`
	Since  *time.Time `json:"since" help:"when it was granted the lock"`
	Age    *float64   `json:"age_seconds" help:"since then"`
	// Without a lease, or if it cannot be read, the three are null.
	Remaining  *float64 `json:"remaining_seconds" help:"what is left of the lease, the lock delay included; below 0 it is over"`
	TTL        *float64 `json:"ttl_seconds" help:"the length of the lease"`
	Delay      *float64 `json:"delay_seconds" help:"the lock delay"`
	FailClosed bool     `json:"fail_closed" help:"it has no lease"`
	Expired    bool     `json:"expired" help:"the lease is over: the next client that looks removes the holder"`
	// NotBefore and Revoked are null without a policy.
	Closed    bool       `json:"closed" help:"its turn was released, and it keeps the queue closed"`
	NotBefore *time.Time `json:"not_before" help:"until when it keeps the queue closed at least"`
	Revoked   *Revoked   `json:"revoked" help:"the request to give way"`

	Data    *string `json:"data" help:"what the holder publishes, if that is UTF-8"`
	Base64  []byte  `json:"data_base64" help:"the same as base64, or null"`
	Problem *string `json:"problem" help:"why the entry cannot be read"`
}

// Waiter is a waiter for machines.
type Waiter struct {
	Position int    `json:"position" help:"1 is the next"`
	Ticket   string `json:"ticket" help:"the ticket"`
	Turns    int    `json:"turns" help:"how many tickets it has from that on: so many wait together"`
	// With a problem, the seven are null.
	ID     *string  `json:"id" help:"an id that is never used again"`
	Beat   *int64   `json:"beat" help:"how often the lease was renewed"`
	Owner  *string  `json:"owner" help:"the name of the process"`
	Shared *bool    `json:"shared" help:"together with other shared holders"`
	Group  *string  `json:"group" help:"the waiters of which the latest stays"`
	By     *string  `json:"superseded_by" help:"the later ticket of the group, for which it leaves with its next look"`
	Age    *float64 `json:"age_seconds" help:"how long it has waited"`
	// Kept is null while a process waits.
	Kept      *time.Time `json:"kept_since" help:"since when its place is kept, in which no process waits"`
	Remaining float64    `json:"remaining_seconds" help:"what is left of its lease; below 0 it is over"`
	TTL       float64    `json:"ttl_seconds" help:"the length of its lease"`
	Expired   bool       `json:"expired" help:"the lease is over: the next client that looks removes the waiter"`
	Problem   *string    `json:"problem" help:"why the row cannot be read"`
}

// NewReport returns the state for machines.
func NewReport(s *queue.State) Report {
	r := Report{
		Entity: s.Entity, Reason: s.Reason, State: StateOf(s), Issued: s.Issued.String(), ReadAt: s.ReadAt.UTC(),
		Serving: []Holder{}, Waiting: []Waiter{},
	}
	if !s.Issued.IsZero() {
		r.Scope, r.Permits = new(Scope(s.Scope)), &s.Permits
	}
	r.HoldTime, r.Result, r.Loss = newHoldTime(s), newResult(s.Result), NewLoss(s)
	for _, h := range s.Serving {
		r.Serving = append(r.Serving, NewHolder(h))
	}
	for _, w := range s.Waiting {
		waiter := newWaiter(w)
		if by, ok := s.SupersededBy(w.Ticket); ok {
			waiter.By = new(by.String())
		}
		r.Waiting = append(r.Waiting, waiter)
	}
	limit, full := s.Full()
	r.Limit, r.Full = orNull(limit), full
	return r
}

func newHoldTime(s *queue.State) *HoldTime {
	if s.HoldTime == (queue.HoldTime{}) {
		return nil
	}
	return &HoldTime{Seconds(s.HoldTime.Mean), Seconds(s.HoldTime.Deviation)}
}

func newResult(r queue.Result) *Result {
	result := &Result{Ticket: r.Ticket.String(), Bytes: len(r.Value), Problem: problem(r.Problem)}
	switch {
	case r.Problem != nil:
	case !r.Exists():
		return nil
	default:
		result.Until = known(r.Until)
	}
	return result
}

func problem(err error) *string {
	if err == nil {
		return nil
	}
	return new(err.Error())
}

// NewHolder returns a holder for machines.
func NewHolder(h queue.Holder) Holder {
	holder := Holder{
		Ticket: h.Ticket.String(), Turn: h.Turn().String(), Follow: h.Follow(), ID: h.ID, Owner: h.Owner, Shared: h.Shared,
		FailClosed: h.Endless(), Expired: h.Remaining <= 0, Base64: h.Data,
		Closed: h.Closed, NotBefore: known(h.NotBefore), Revoked: newRevoked(h.Revoked), Since: known(h.Since), Problem: problem(h.Problem),
		Group: orNull(h.Group), Slot: h.Slot, Data: Text(h.Data),
	}
	if h.TTL > 0 || h.Endless() {
		holder.Beat = &h.Beat
	}
	if h.TTL > 0 {
		holder.Remaining, holder.TTL, holder.Delay = new(tenths(h.Remaining)), new(Seconds(h.TTL)), new(Seconds(h.Delay))
	}
	if !h.Since.IsZero() {
		holder.Age = new(tenths(h.Age))
	}
	return holder
}

func newWaiter(w queue.Waiter) Waiter {
	waiter := Waiter{
		Position: w.Position, Ticket: w.Ticket.String(), Turns: 1 + follow(w),
		Remaining: tenths(w.Remaining), TTL: Seconds(w.TTL), Expired: w.Remaining <= 0, Problem: problem(w.Problem),
	}
	if w.Problem != nil {
		return waiter
	}
	waiter.Group, waiter.Kept = orNull(w.Group), known(w.KeptSince)
	waiter.ID, waiter.Beat, waiter.Owner, waiter.Shared, waiter.Age = &w.ID, &w.Beat, &w.Owner, &w.Shared, new(tenths(w.Age))
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
func Scope(s ticket.Scope) string { return strings.ToLower(strings.TrimPrefix(s.String(), "Scope")) }

// Machine prints values for machines, by the name of the format.
var Machine = map[string]func(io.Writer, any) error{"json": JSON, "yaml": YAML}

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
