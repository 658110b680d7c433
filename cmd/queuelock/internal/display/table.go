// Package display prints the state of queues, for people and for machines.
//
// What people read is cut to what they need: long tickets have their last digits, and
// durations two or three. Nothing that another program wrote is sent to a terminal as it
// is: all output passes a Filter. What machines read is whole, has the same names in JSON
// and in YAML, and has null for what is not known.
package display

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Options change what Table prints.
type Options struct {
	Name string // of the queue
	// None is what is printed of a queue that does not exist.
	None string
	Wide bool // all digits of the tickets, modes, ids, beats and times
	// Evict returns the command that evicts the holder with that ticket. Nil: there is none.
	Evict func(ticket.Number) string
}

// Table prints a queue's state for people.
func Table(out io.Writer, s *queue.State, o Options) error {
	lines := append([]string{Escape(o.Name) + ": " + Headline(s, o.None)}, Facts(s)...)
	if len(taken(s))+len(s.Waiting) > 0 {
		lines = append(append(lines, ""), Entries(s, taken(s), o.Wide, 0, nil)...)
		for _, line := range Notes(s, o.Evict) {
			lines = append(lines, "", line)
		}
	}
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

// Headline returns what is known of the queue as a whole. none is said of one that does not exist.
func Headline(s *queue.State, none string) string {
	switch StateOf(s) {
	case Unused:
		return none
	case Idle:
		return fmt.Sprintf("%sidle; the last ticket was %s", kind(s), s.Issued)
	}
	served := strconv.Itoa(len(queue.Turns(s.Serving)))
	if s.Permits > 0 {
		served = fmt.Sprintf("%d of %d", len(taken(s)), s.Permits)
	}
	line := fmt.Sprintf("%s%s served, %d waiting", kind(s), served, s.Waiters())
	if limit, full := s.Full(); full {
		line += fmt.Sprintf(", full %d of %d", s.Waiters(), limit)
	}
	if h, closed := closing(s); closed {
		line += "; closed until " + At(h.NotBefore)
	}
	if s.HoldTime.Mean > 0 {
		line += fmt.Sprintf("; held for about %v each", Duration(s.HoldTime.Mean))
	}
	return line
}

// Facts returns lines about the last result and the last loss, which stay when the queue is idle.
func Facts(s *queue.State) []string {
	return slices.DeleteFunc([]string{ResultOf(s), Lost(s)}, func(text string) bool { return text == "" })
}

// ResultOf returns what is known of the result that package once has left; empty if there is none.
func ResultOf(s *queue.State) string {
	r := s.Result
	switch text := fmt.Sprintf("result of %s, %d bytes", r.Ticket.Short(), len(r.Value)); {
	case r.Problem != nil:
		return "result: " + Escape(r.Problem.Error())
	case !r.Exists():
		return ""
	case r.Until.IsZero():
		return text + ", for callers that waited"
	case !s.ReadAt.Before(r.Until):
		return text + ", too old since " + At(r.Until)
	default:
		return text + ", until " + At(r.Until)
	}
}

// Entries returns the table of these holders and of the waiters, in at most that width; 0: no bound. place changes the first
// cell of each row, by its index, if it is not nil.
func Entries(s *queue.State, holders []queue.Holder, wide bool, width int, place func(i int, text string) string) []string {
	modes := wide || slices.ContainsFunc(s.Serving, func(h queue.Holder) bool { return h.Shared }) ||
		slices.ContainsFunc(s.Waiting, func(w queue.Waiter) bool { return w.Shared })
	number := ticket.Number.Short
	if wide {
		number = ticket.Number.String
	}
	var rows [][]string
	row := func(first, tickets, owner, mode, age, lease, beat, since, id string) {
		if place != nil {
			first = place(len(rows), first)
		}
		if !modes {
			mode = ""
		}
		rows = append(rows, []string{first, tickets, owner, mode, age, lease, beat, since, id})
	}
	for _, h := range holders {
		age, since, first := "?", "?", "served"
		if !h.Since.IsZero() {
			age, since = Age(h.Age), At(h.Since)
		}
		if h.Closed {
			first = "closed"
		}
		if h.Slot != nil {
			first += " slot " + strconv.Itoa(*h.Slot)
		}
		row(first, HolderTickets(h, number), HolderOwner(h.Owner), modeOf(h.Shared), age, holderLeft(h), strconv.FormatInt(h.Beat, 10), since, Owner(h.ID))
	}
	for _, p := range s.Waiting {
		first, tickets := strconv.Itoa(p.Position), WaiterTickets(p, number)
		if p.Problem != nil {
			row(first, tickets, "?", "?", "?", Escape(p.Problem.Error()), "?", "?", "?")
			continue
		}
		since := At(s.ReadAt.Add(-p.Age))
		row(first, tickets, HolderOwner(p.Owner), modeOf(p.Shared), Age(p.Age), left(p.Remaining, p.TTL), strconv.FormatInt(p.Beat, 10), since, Owner(p.ID))
	}
	columns := []Column{
		{}, {Heading: "TICKET"}, {Heading: "OWNER", Floor: 10}, {Heading: "MODE", Drop: 1}, {Heading: "FOR"}, {Heading: "LEASE LEFT", Floor: 24},
		{Heading: "BEAT"}, {Heading: "SINCE"}, {Heading: "ID"},
	}
	if !wide {
		columns = columns[:6]
	}
	return Draw(2, width, columns, rows)
}

// Notes returns lines about the holders and the waiters: which holders have no lease, until when they keep the queue closed,
// who has asked them to give way, which also wait, their data, and which waiters are superseded. evict returns the command that
// evicts a holder; nil: there is none.
func Notes(s *queue.State, evict func(ticket.Number) string) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, h := range s.Serving {
		if h.Endless() && evict != nil {
			add("no lease: no other client ends the turn of %s; if its process has ended, evict with: %s", h.Ticket.Short(), evict(h.Ticket))
		}
		if !h.Closed && h.NotBefore.After(s.ReadAt) {
			add("%s keeps the queue closed until %s", h.Ticket.Short(), At(h.NotBefore))
		}
		if r := h.Revoked; r != nil {
			add("%s was asked to give way%s", h.Ticket.Short(), Asked(*r, s.ReadAt))
		}
		if text := alsoWaits(s, h); text != "" {
			add("%s", text)
		}
	}
	for _, h := range s.Serving {
		if data, as := Data(h.Data); data != "" {
			add("data of %s%s: %s", h.Turn().Short(), as, data)
		}
	}
	for _, w := range s.Waiting {
		if by, ok := s.SupersededBy(w.Ticket); ok {
			add("%s is superseded by ticket %s, of the group %s", w.Ticket.Short(), by.Short(), Owner(w.Group))
		}
		if !w.KeptSince.IsZero() && !w.Expired() {
			add("%s keeps its place until %s: since %s no process waits in it", w.Ticket.Short(), At(s.ReadAt.Add(w.Remaining)), At(w.KeptSince))
		}
	}
	return lines
}

// HolderTickets returns the ticket of a holder; of a block, that of its turn, and how many follow in it, as in "12 +6".
func HolderTickets(h queue.Holder, number func(ticket.Number) string) string {
	return block(number(h.Turn()), h.Follow())
}

// WaiterTickets returns the ticket of a waiter; of a block, the first, and how many follow in it.
func WaiterTickets(w queue.Waiter, number func(ticket.Number) string) string {
	return block(number(w.Ticket), follow(w))
}

func follow(w queue.Waiter) int { return max(0, w.Turns-1) }

func block(first string, follow int) string {
	if follow == 0 {
		return first
	}
	return fmt.Sprintf("%s +%d", first, follow)
}

// alsoWaits says that the owner of a holder waits for the same lock: a process may be waiting for itself. It is empty if
// the owner does not wait.
func alsoWaits(s *queue.State, h queue.Holder) string {
	text, more := "", 0
	for _, w := range s.Waiting {
		switch {
		case w.Problem != nil || w.Owner != h.Owner || h.Owner == "":
		case text == "":
			text = fmt.Sprintf("the owner of %s also waits, with %s", h.Turn().Short(), w.Ticket.Short())
			more = follow(w)
		default:
			more += 1 + follow(w)
		}
	}
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// kind returns what kind of queue it is, as far as it is not a lock with a counter of its
// own, to print before how many are served.
func kind(s *queue.State) string {
	var words string
	switch {
	case s.Permits > 0 && s.Idle():
		words = fmt.Sprintf("semaphore of %d, ", s.Permits) // there is no count after it
	case s.Permits > 0:
		words = "semaphore, "
	}
	if s.Scope != ticket.ScopeQueue {
		words += "scope " + Scope(s.Scope) + ", "
	}
	return words
}

func modeOf(shared bool) string {
	if shared {
		return "shared"
	}
	return "exclusive"
}

// Owner returns an owner's name in one line. Of one that another program wrote, it has no
// more than the library's own may have.
func Owner(owner string) string {
	owner = fmt.Sprintf("%.256s", owner)
	if Printable(owner) {
		return owner
	}
	return strconv.Quote(owner)
}

// HolderOwner is Owner, and "?" for an entry whose owner cannot be read.
func HolderOwner(owner string) string { return cmp.Or(Owner(owner), "?") }

func holderLeft(h queue.Holder) string {
	switch {
	case h.Problem != nil:
		return Escape(h.Problem.Error())
	case h.Endless():
		return "no lease"
	case h.Closed && h.Remaining > 0:
		return "opens in " + Age(h.Remaining)
	case h.Delay > 0 && h.Remaining > 0:
		return left(h.Remaining, h.TTL) + " + " + Duration(h.Delay)
	case !h.NotBefore.IsZero() && h.Remaining > h.TTL:
		return Age(h.Remaining)
	}
	return left(h.Remaining, h.TTL)
}

func left(remaining, ttl time.Duration) string {
	if remaining <= 0 {
		return "over"
	}
	return fmt.Sprintf("%s of %s", Age(remaining), Duration(ttl))
}

// Age returns a time that was measured against DynamoDB's clock, which one read shows to
// about a second.
func Age(d time.Duration) string {
	if d < time.Second {
		return "<1s"
	}
	return Duration(d)
}

// Duration rounds a duration to what a person wants to know.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Count is a number of things, in words.
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// Closed is the state of a queue whose last turn was released, and that stays closed.
const Closed = "closed"

// closing returns the first entry that keeps a queue without a holder closed.
func closing(s *queue.State) (h queue.Holder, closed bool) {
	if all := taken(s); len(all) > 0 && len(queue.Turns(all)) == 0 {
		return all[0], true
	}
	return h, false
}

// taken returns the holders, and what keeps the queue closed. Its entry stays when the queue has opened, until the next turn.
func taken(s *queue.State) []queue.Holder {
	return slices.DeleteFunc(slices.Clone(s.Serving), func(h queue.Holder) bool { return h.Closed && h.Expired() })
}

// At prints a time on DynamoDB's clock, or what is said of one that is not known.
func At(t time.Time) string {
	if t.IsZero() {
		return "a time that is not known"
	}
	return t.UTC().Format(time.RFC3339)
}

// Asked says when, by whom, until when and why a holder was asked to give way.
func Asked(r queue.Revocation, now time.Time) string {
	text := ""
	if !r.At.IsZero() {
		text = " " + Age(max(0, now.Sub(r.At))) + " ago"
	}
	text += " by " + Owner(r.By)
	if !r.Deadline.IsZero() {
		text += ", until " + At(r.Deadline)
	}
	if r.Why != "" {
		text += ": " + Owner(r.Why)
	}
	return text
}

// Revoked is a request to give way, for machines.
type Revoked struct {
	By       string     `json:"by" help:"who has asked the holder to give way"`
	Why      string     `json:"why" help:"the reason"`
	At       *time.Time `json:"at" help:"when"`
	Deadline *time.Time `json:"deadline" help:"until when it should have ended its turn"`
}

func newRevoked(r *queue.Revocation) *Revoked {
	if r == nil {
		return nil
	}
	return &Revoked{By: r.By, Why: r.Why, At: known(r.At), Deadline: known(r.Deadline)}
}

func known(t time.Time) *time.Time { return orNull(t.UTC()) }

func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// Data returns a holder's data as text, and how it is written: quoted if it is not one line, and in base64 if it is no text.
func Data(data []byte) (text, as string) {
	switch text = string(data); {
	case Printable(text):
		return text, ""
	case utf8.Valid(data):
		return strconv.Quote(text), ""
	}
	return base64.StdEncoding.EncodeToString(data), " (base64)"
}

// Text returns a holder's data for machines, nil if it is no text.
func Text(data []byte) *string {
	if !utf8.Valid(data) {
		return nil
	}
	return orNull(string(data))
}

// Loss is the last turn that was taken from its holder, for machines. The record has neither its owner nor the cause.
type Loss struct {
	Ticket string     `json:"ticket" help:"the ticket of the holder"`
	ID     string     `json:"id" help:"the id of the holder"`
	At     *time.Time `json:"at" help:"when"`
}

// lost returns the mark of the last eviction; false if there is none, or if its ticket has the lock, as after a Resume.
func lost(s *queue.State) (queue.Eviction, bool) {
	mark := s.LastEviction
	_, holds := s.Holder(mark.Ticket)
	return mark, !mark.Ticket.IsZero() && !holds
}

// NewLoss returns nil if the record has no loss.
func NewLoss(s *queue.State) *Loss {
	mark, ok := lost(s)
	if !ok {
		return nil
	}
	return &Loss{Ticket: mark.Ticket.String(), ID: mark.ID, At: known(mark.At)}
}

// Lost says which turn was the last that its holder lost, and when; empty if there is none.
func Lost(s *queue.State) string {
	mark, ok := lost(s)
	if !ok {
		return ""
	}
	when := "at a time that is not known"
	if !mark.At.IsZero() {
		when = fmt.Sprintf("%s ago, at %s", Age(max(0, s.ReadAt.Sub(mark.At))), At(mark.At))
	}
	return fmt.Sprintf("last loss: ticket %s, %s: its lease was over, or it was evicted or resumed", mark.Ticket.Short(), when)
}
