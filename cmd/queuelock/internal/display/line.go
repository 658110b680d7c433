package display

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queue"
)

// Line is a queue in one line of a list, for machines as JSON.
type Line struct {
	Entity  string  `json:"entity" help:"the entity"`
	Reason  string  `json:"reason" help:"what the lock is for"`
	State   string  `json:"state" help:"held, closed, waiting, idle or unreadable"`
	Mode    string  `json:"mode" help:"exclusive, shared, semaphore or item"`
	Permits int     `json:"permits" help:"how many may hold at once; 0: a lock"`
	Holders int     `json:"holders" help:"how many hold"`
	Holder  *string `json:"holder" help:"the owner of the lowest ticket"`
	Ticket  *string `json:"ticket" help:"its ticket"`
	// HeldFor is the longest age of a holder. Null if there is none, or if it is not known.
	HeldFor *float64 `json:"held_seconds" help:"the longest age of a holder"`
	Expired bool     `json:"expired" help:"the lease of a holder is over"`
	// ClosedUntil is null while there is a holder.
	ClosedUntil *time.Time `json:"closed_until" help:"when a queue without a holder opens"`
	Revoked     bool       `json:"revoked" help:"a holder was asked to give way"`
	Waiters
	// LongestWait is the longest age of a waiter.
	LongestWait *float64  `json:"longest_wait_seconds" help:"the longest age of a waiter"`
	HoldTime    *HoldTime `json:"hold_time" help:"how long recent holders had the lock"`
	Loss        *Loss     `json:"last_eviction" help:"the last turn that its holder lost: its lease was over, or it was evicted or resumed"`
	Units       Units     `json:"units_per_hour" help:"capacity units in an hour, estimated: see --units"`
	Problem     *string   `json:"problem" help:"why the record cannot be read"`

	spans
}

// Waiters are the numbers of a Line.
type Waiters struct {
	Waiting        int `json:"waiting" help:"how many wait"`
	ExpiredWaiting int `json:"expired_waiting" help:"how many of them have a lease that is over"`
	KeptWaiting    int `json:"kept_waiting" help:"how many of the others are places that are kept, in which no process waits"`
	// Full is of the limit of the last waiter that has one.
	Full bool `json:"full" help:"as many wait as the last waiter with a limit allows"`
}

// spans are the durations of a Line for people, and what its holder published.
type spans struct {
	heldFor, longestWait time.Duration
	opensIn              time.Duration
	taken                int // holders, and permits that stay closed
	data                 []byte
}

// NewLine returns the line of a queue. err is the problem of a record that cannot be read.
func NewLine(s *queue.State, err error) Line {
	l := Line{Entity: s.Entity, Reason: s.Reason, State: StateOf(s), Mode: "exclusive", Permits: s.Permits, Waiters: Waiters{Waiting: s.Waiters()}}
	turns := queue.Turns(s.Serving)
	l.Holders, l.taken = len(turns), len(taken(s))
	switch {
	case s.Reason == queuelock.ItemReason:
		l.Mode, l.State = "item", Held // its waiters wait for a holder that is in the item
	case s.Permits > 0:
		l.Mode = "semaphore"
	case len(s.Serving) > 0 && s.Serving[0].Shared:
		l.Mode = "shared"
	}
	if err != nil {
		l.State, l.Problem = Unreadable, problem(err)
	}
	l.HoldTime, l.Loss, l.Units = newHoldTime(s), NewLoss(s), UnitsOf(s).rounded()
	_, l.Full = s.Full()
	if h, closed := closing(s); closed {
		l.ClosedUntil, l.opensIn = known(h.NotBefore), h.Remaining
	}
	for i, h := range turns {
		if i == 0 {
			l.Holder, l.Ticket, l.data = &h.Owner, new(h.Ticket.String()), h.Data
		}
		if !h.Since.IsZero() {
			l.heldFor = max(l.heldFor, h.Age)
			l.HeldFor = new(tenths(l.heldFor))
		}
		l.Expired, l.Revoked = l.Expired || h.Expired(), l.Revoked || h.Revoked != nil
	}
	for _, w := range s.Waiting {
		if w.Problem == nil {
			l.longestWait = max(l.longestWait, w.Age)
			l.LongestWait = new(tenths(l.longestWait))
			if w.Expired() {
				l.ExpiredWaiting += 1 + follow(w)
			} else if !w.KeptSince.IsZero() {
				l.KeptWaiting++
			}
		}
	}
	return l
}

// Times returns HeldFor and LongestWait, zero for null.
func (l Line) Times() (held, longest time.Duration) { return l.heldFor, l.longestWait }

// Data returns what the holder of the lowest ticket published, in one line.
func (l Line) Data() string {
	text, as := Data(l.data)
	return text + as
}

// Compare orders lines by entity and reason.
func (l Line) Compare(o Line) int {
	return cmp.Or(cmp.Compare(l.Entity, o.Entity), cmp.Compare(l.Reason, o.Reason))
}

// Name returns the entity, or the item.
func (l Line) Name() string {
	if l.Mode == "item" {
		return Escape(queuelock.Key{Entity: l.Entity, Reason: l.Reason}.String())
	}
	return Owner(l.Entity)
}

// Cells returns what a table shows of the queue: its mode, its holder, how long that has held, how many wait, and the longest
// wait. They are shorter in a live view, which marks leases that are over by itself.
func (l Line) Cells(live bool) (mode, holder, held, waiting, longest string) {
	mode, holder, held, waiting, longest = l.Mode, "-", "-", strconv.Itoa(l.Waiting), "-"
	switch {
	case l.Permits > 0:
		mode = fmt.Sprintf("%d of %d", l.taken, l.Permits)
	case live && mode == "exclusive":
		mode = "lock"
	}
	switch {
	case l.Problem != nil:
		return "?", "unreadable: " + Owner(*l.Problem), "?", "?", "?"
	case l.Mode == "item":
		holder, held = "in the item", "?"
	case l.State == Closed && l.ClosedUntil == nil:
		holder = "closed"
	case l.State == Closed && live:
		holder = "opens in " + Age(l.opensIn)
	case l.State == Closed:
		holder = "closed until " + At(*l.ClosedUntil)
	case l.Holder != nil:
		holder, held = HolderOwner(*l.Holder)+"\t", "?"
		if l.Holders > 1 {
			holder += fmt.Sprintf(" +%d", l.Holders-1)
		}
		if l.Expired && !live {
			holder += " (lease over)"
		}
		if l.Revoked {
			holder += " (asked)"
		}
		if l.HeldFor != nil {
			held = Age(l.heldFor)
		}
	}
	if l.Full {
		waiting += " full"
	}
	if l.KeptWaiting > 0 {
		waiting += fmt.Sprintf(" (%d kept)", l.KeptWaiting)
	}
	switch {
	case live || l.ExpiredWaiting == 0:
	case l.ExpiredWaiting == l.Waiting:
		waiting += " (lease over)"
	default:
		waiting += fmt.Sprintf(" (lease of %d over)", l.ExpiredWaiting)
	}
	if l.LongestWait != nil {
		longest = Age(l.longestWait)
	}
	return mode, holder, held, waiting, longest
}

// Lines prints the table of a list. If it is wide, no name is cut.
func Lines(out io.Writer, lines []Line, wide, units bool) error {
	name, owner := 40, 33
	if wide {
		name, owner = 0, 0
	}
	var rows [][]string
	for _, l := range lines {
		mode, holder, held, waiting, longest := l.Cells(false)
		writes, reads := l.Units.cells()
		rows = append(rows, []string{l.Name(), Owner(l.Reason), mode, holder, held, waiting, longest, writes, reads})
	}
	columns := []Column{
		{Heading: "ENTITY", Most: name}, {Heading: "REASON", Most: name}, {Heading: "MODE"}, {Heading: "HOLDER", Most: owner},
		{Heading: "HELD FOR"}, {Heading: "WAITING"}, {Heading: "LONGEST WAIT"}, {Heading: "WRITES/H"}, {Heading: "READS/H"},
	}
	if !units {
		columns = columns[:7]
	}
	_, err := fmt.Fprintln(out, strings.Join(Draw(2, 0, columns, rows), "\n"))
	return err
}
