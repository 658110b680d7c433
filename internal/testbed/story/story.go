// Package story has the words for what happens to a queue: those of the transcripts of package search, and of the stories
// of package sim. It is test apparatus.
//
// A line of a story is a [Step], what follows from one and is indented, or for people, with a # before it. Clients are
// letters. An id is its client, the number of its turn, and what the library adds: A1-0, and A1-r0-3 of a row.
package story

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
)

// Step is what may happen at any time: a line that a transcript begins with, and that package search can play.
type Step string

// The steps of clients, of others, and of requests.
const (
	Wants        Step = "%s wants the lock"
	WantTogether Step = "%v callers of %s want the lock"
	Looks        Step = "%s looks"
	LooksSlowly  Step = "%s looks, and the answer takes long"
	Releases     Step = "%s releases"
	Reads        Step = "%s reads the next row"
	Beats        Step = "%s sends a heartbeat"
	Renews       Step = "%s sends a heartbeat of its row"
	GivesUp      Step = "%s gives up"
	Rings        Step = "%s is rung"
	RowEnds      Step = "the lease of a row of %s ends"
	SeesItsEnd   Step = "%s sees that its lease has ended"

	GathersNoLonger Step = "%s gathers no longer"

	Crashes     Step = "%s crashes"
	Sleeps      Step = "%s sleeps"
	Downgrades  Step = "%s downgrades"
	SetsData    Step = "%s sets its data"
	Updates     Step = "%s updates and releases"
	TriesAgain  Step = "%s tries again"
	StopsTrying Step = "%s stops trying"
	ReadsX      Step = "%s reads x"
	Fences      Step = "%s writes with the condition of its lock"
	Transacts   Step = "%s calls Transact"

	Evicts      Step = "an operator evicts %s"
	Asks        Step = "an operator asks %s to give way"
	Erased      Step = "another program deletes the record"
	Declines    Step = "the condition of updates changes"
	RecordShows Step = "the record shows the transaction of %s"
	XShows      Step = "x shows the transaction of %s"
	Forgotten   Step = "DynamoDB forgets the token of %s"
	Numbers     Step = "%s takes a number for several queues"
	Saves       Step = "the handle of %s is saved"
	Leaves      Step = "%s gives its place up"
	Joins       Step = "%s joins a transaction of another lock"
	SendsAgain  Step = "the transaction that %s has joined is sent again"
	SendsNoMore Step = "the transaction that %s has joined is sent no more"

	Arrives       Step = "arrives: %s"
	ArrivesSlowly Step = "arrives, and the answer takes long: %s"
	AnswerArrives Step = "the answer arrives: %s"
	Mute          Step = "arrives, and the answer is lost: %s"
	Lost          Step = "is lost: %s"
	Throttled     Step = "is throttled: %s"
	Late          Step = "takes long, and has no answer: %s"
	Copied        Step = "is copied: %s"
)

var steps = []Step{
	Wants, WantTogether, Looks, Rings, RowEnds, SeesItsEnd, GathersNoLonger, LooksSlowly, Releases, Reads, Beats, Renews, GivesUp, Crashes,
	Sleeps, Downgrades, SetsData, Updates, TriesAgain, StopsTrying, ReadsX, Fences, Transacts, Evicts, Asks, Erased, Declines, RecordShows, XShows,
	Forgotten, Numbers, Saves, Leaves, Joins, SendsAgain, SendsNoMore, Arrives, ArrivesSlowly, AnswerArrives, Mute, Lost, Throttled, Late, Copied,
}

// Of returns the step of a client, or of a request.
func (s Step) Of(who ...any) string { return fmt.Sprintf(string(s), who...) }

// IsStep reports whether a line is a step.
func IsStep(line string) bool {
	return slices.ContainsFunc(steps, func(s Step) bool {
		pattern := strings.NewReplacer("%s", ".+", "%v", ".+").Replace(regexp.QuoteMeta(string(s)))
		return regexp.MustCompile("^" + pattern + "$").MatchString(line)
	})
}

// Effect is what follows from a step.
type Effect string

// What clients do and hear, and the table's answer.
const (
	Sends     Effect = "    %s sends %s"
	Rests     Effect = "    %s rests"
	Holds     Effect = "    %s holds the lock with ticket %v"
	HasLost   Effect = "    %s has lost the lock"
	Released  Effect = "    %s hears that it released the lock"
	WasLost   Effect = "    %s hears that it had lost the lock"
	Unknown   Effect = "    %s does not learn how its turn ended"
	NotServed Effect = "    %s ends its wait without the lock"
	Table     Effect = "    table: %s"
)

// Of returns the line.
func (e Effect) Of(args ...any) string { return fmt.Sprintf(string(e), args...) }

// Client returns the letter of a client.
func Client(i int) string { return string(rune('A' + i)) }

// Write names a write of what has that id.
func Write(w clause.Write, id string) string {
	name := w.Name
	if id != "" {
		name += " of " + id
	}
	switch {
	case w.Name != "RELEASE":
		return name
	case slices.Contains(w.Conditions(), "alone"):
		return "fast RELEASE"
	case slices.Contains(w.Changes(), "sets holders.#id"):
		return name + " that closes"
	}
	return name + " by hand-off"
}

// Look names a read of the record and the rows up to a ticket.
func Look(ticket any) string { return fmt.Sprintf("LOOK up to ticket %v", ticket) }

// Bare is a read of the record alone.
const Bare = "LOOK at the record"

// By adds to a request the client that sent it, unless an id in it says that.
func By(request, client string) string {
	if strings.Contains(request, " of ") {
		return request
	}
	return request + " of " + client
}

// Fate says what the table did with a write.
func Fate(r machine.Reply) string {
	return [...]string{"applied", "made before", "refused", "refused", "not applied", "no answer"}[r]
}

// Ahead names the rows that a look has found.
func Ahead(ids []string) string { return fmt.Sprintf(", rows ahead %v", ids) }

// Record says what is in the record. until, if not nil, says when a lease ends.
func Record(rec *queue.Record, until func(queue.Lease) string) string {
	switch {
	case rec.Problem != nil:
		return "a malformed record"
	case !rec.Exists:
		return "no record"
	case !rec.Present:
		return fmt.Sprintf("ticketNumber %s, granted %s, holders absent", rec.TicketNumber, rec.Granted)
	}
	var all []string
	for _, h := range rec.Holders {
		text := h.ID + ":" + h.Ticket.String()
		if last := h.Last(); last != h.Ticket {
			text += "–" + last.String()
		}
		if h.Reached != h.Ticket {
			text += " at " + h.Reached.String()
		}
		switch {
		case until != nil && !h.Lease.Endless():
			text += until(h.Lease)
		case h.Lease.Endless():
			text += " without a lease"
		case h.Shared:
			text += " shared"
		}
		if h.Made > 0 {
			text += fmt.Sprintf(" made %d", h.Made)
		}
		all = append(all, text)
	}
	text := fmt.Sprintf("ticketNumber %s, granted %s, holders {%s}", rec.TicketNumber, rec.Granted, strings.Join(all, ", "))
	if len(rec.Marks.Unsettled) > 0 {
		text += ", unsettled"
	}
	return text
}
