package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queue"
)

// statusLimit bounds the look at the queue, the SDK's repetitions included.
const statusLimit = 15 * time.Second

func newStatus() *cobra.Command {
	var s settings
	var reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status ENTITY",
		Short: "List the holders and the waiters",
		Long: `Lists the holders of the lock of ENTITY and its waiters, in order, as one consistent read
shows them. It changes nothing.

A lease that is over belongs to a process that has crashed or is partitioned: the next client
that looks at the queue removes it. The time left of a lease is a lower bound, and includes a
lock delay. A "?" is the age of a holder whose process did not know the time yet when it was
served: it is known after its first heartbeat. The data of a holder is printed below, as text,
or in base64 if it is not text of one line. A holder without a lease ("run --fail-closed") is
shown as such, with the command that evicts it. Long tickets are shortened to their last digits;
--json has them whole.

Of a semaphore ("run --permits") it shows the number of permits, and of a lock whose tickets
are not its own ("run --scope") the scope. Where a holder or a waiter is shared ("run
--shared"), it shows of each whether it is shared or exclusive.

--json prints one object: entity, reason, issued (the last ticket), scope (queue, entity or
table), permits (of a semaphore; of a lock 0), read_at, serving and waiting (lists), hold_time
(mean_seconds and deviation_seconds of recent holders). Tickets are strings, durations numbers
of seconds (ages and the time left of leases to a tenth), times RFC 3339, shared and expired
booleans. Unknown values are null, as are scope and permits before the first use, and hold_time
before the first release. The data of a holder is in data_base64, and in data if it is text in
UTF-8. A holder without a lease has fail_closed, and null for remaining_seconds, ttl_seconds and
delay_seconds. A row that another program wrote has a problem, and null for owner, shared and
age_seconds. So has a holder with an entry that cannot be read, whose ticket is "0" if it is
not known.

` + exitCodesHelp,
		Example: `  queuelock status deploy/prod
  queuelock status db --reason backup --json | jq '.waiting | length'`,
		Args: oneEntity,
		RunE: func(cmd *cobra.Command, args []string) error {
			state, err := s.inspect(cmd.Context(), queuelock.Key{Entity: args[0], Reason: reason})
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(newStatusReport(state))
			}
			return printStatus(cmd.OutOrStdout(), state)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", `what the lock is for (default "lock")`)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	s.addFlags(cmd)
	return cmd
}

// inspect looks at a queue.
func (s *settings) inspect(ctx context.Context, key queuelock.Key) (*queue.State, error) {
	if err := checkArguments(ctx, key, s.table, queuelock.Config{}); err != nil {
		return nil, err
	}
	db, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer db.close()
	client, err := queuelock.New(db, s.table, queuelock.Config{})
	if err != nil {
		return nil, usagef("%w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	state, err := client.Inspect(ctx, key)
	if err != nil {
		return nil, unavailable(err)
	}
	return state, nil // a client that acquired nothing needs no Close
}

// statusReport is a queue's state for machines.
type statusReport struct {
	Entity   string          `json:"entity"`
	Reason   string          `json:"reason"`
	Issued   string          `json:"issued"`
	Scope    *string         `json:"scope"`   // of a queue that was used
	Permits  *int            `json:"permits"` // likewise
	ReadAt   time.Time       `json:"read_at"`
	Serving  []statusHolder  `json:"serving"`
	Waiting  []statusWaiter  `json:"waiting"`
	HoldTime *statusHoldTime `json:"hold_time"` // of a queue in which turns have ended
}

type statusHoldTime struct {
	Mean      float64 `json:"mean_seconds"`
	Deviation float64 `json:"deviation_seconds"`
}

type statusHolder struct {
	Ticket string     `json:"ticket"`
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

type statusWaiter struct {
	Position int    `json:"position"`
	Ticket   string `json:"ticket"`
	// With a problem, the three are null.
	Owner     *string  `json:"owner"`
	Shared    *bool    `json:"shared"`
	Age       *float64 `json:"age_seconds"`
	Remaining float64  `json:"remaining_seconds"`
	TTL       float64  `json:"ttl_seconds"`
	Expired   bool     `json:"expired"`
	Problem   *string  `json:"problem"`
}

func newStatusReport(s *queue.State) statusReport {
	r := statusReport{
		Entity: s.Entity, Reason: s.Reason, Issued: s.Issued.String(), ReadAt: s.ReadAt.UTC(),
		Serving: []statusHolder{}, Waiting: []statusWaiter{},
	}
	if !s.Issued.IsZero() {
		scope := scopeName(s.Scope)
		r.Scope, r.Permits = &scope, &s.Permits
	}
	if s.HoldTime != (queue.HoldTime{}) {
		r.HoldTime = &statusHoldTime{s.HoldTime.Mean.Seconds(), s.HoldTime.Deviation.Seconds()}
	}
	for _, h := range s.Serving {
		holder := statusHolder{
			Ticket: h.Ticket.String(), Owner: h.Owner, Shared: h.Shared,
			FailClosed: h.FailClosed, Expired: h.Remaining <= 0, Base64: h.Data,
		}
		if h.Problem != nil {
			problem := h.Problem.Error()
			holder.Problem = &problem
		}
		if h.TTL > 0 {
			remaining, ttl, delay := tenths(h.Remaining), h.TTL.Seconds(), h.Delay.Seconds()
			holder.Remaining, holder.TTL, holder.Delay = &remaining, &ttl, &delay
		}
		if text := string(h.Data); text != "" && utf8.ValidString(text) {
			holder.Data = &text
		}
		if !h.Since.IsZero() {
			since, age := h.Since.UTC(), tenths(h.Age)
			holder.Since, holder.Age = &since, &age
		}
		r.Serving = append(r.Serving, holder)
	}
	for _, w := range s.Waiting {
		waiter := statusWaiter{
			Position: w.Position, Ticket: w.Ticket.String(),
			Remaining: tenths(w.Remaining), TTL: w.TTL.Seconds(), Expired: w.Remaining <= 0,
		}
		if w.Problem != nil {
			problem := w.Problem.Error()
			waiter.Problem = &problem
		} else {
			age := tenths(w.Age)
			waiter.Owner, waiter.Shared, waiter.Age = &w.Owner, &w.Shared, &age
		}
		r.Waiting = append(r.Waiting, waiter)
	}
	return r
}

func keyOf(s *queue.State) queuelock.Key { return queuelock.Key{Entity: s.Entity, Reason: s.Reason} }

// printStatus prints a queue's state for people.
func printStatus(out io.Writer, s *queue.State) error {
	fmt.Fprintf(out, "%s: ", keyOf(s))
	switch {
	case s.Issued.IsZero():
		_, err := fmt.Fprintln(out, "never used")
		return err
	case len(s.Serving) == 0 && len(s.Waiting) == 0:
		_, err := fmt.Fprintf(out, "%sidle; the last ticket was %s\n", kind(s), s.Issued)
		return err
	}
	fmt.Fprint(out, kind(s), len(s.Serving))
	if s.Permits > 0 {
		fmt.Fprintf(out, " of %d", s.Permits)
	}
	fmt.Fprintf(out, " served, %d waiting", len(s.Waiting))
	if s.HoldTime.Mean > 0 {
		fmt.Fprintf(out, "; held for about %v each", readable(s.HoldTime.Mean))
	}
	fmt.Fprint(out, "\n\n")
	if err := printEntries(out, s); err != nil {
		return err
	}
	return printNotes(out, s)
}

// printEntries prints the table of the holders and the waiters.
func printEntries(out io.Writer, s *queue.State) error {
	modes := hasReaders(s)
	mode := func(m string) string {
		if !modes {
			return ""
		}
		return m + "\t"
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tTICKET\tOWNER\t%sFOR\tLEASE LEFT\n", mode("MODE"))
	for _, h := range s.Serving {
		age := "?"
		if !h.Since.IsZero() {
			age = readable(h.Age)
		}
		fmt.Fprintf(w, "served\t%s\t%s\t%s%s\t%s\n", h.Ticket.Short(), named(h.Owner), mode(modeOf(h.Shared)), age, leftOf(h))
	}
	for _, p := range s.Waiting {
		if p.Problem != nil {
			fmt.Fprintf(w, "%d\t%s\t?\t%s?\t%v\n", p.Position, p.Ticket.Short(), mode("?"), p.Problem)
			continue
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s%s\t%s\n", p.Position, p.Ticket.Short(), named(p.Owner), mode(modeOf(p.Shared)), readable(p.Age), left(p.Remaining, p.TTL))
	}
	return w.Flush()
}

// printNotes prints which holders have no lease, and the holders' data.
func printNotes(out io.Writer, s *queue.State) error {
	for _, h := range s.Serving {
		if !h.FailClosed {
			continue
		}
		if _, err := fmt.Fprintf(out, "\nno lease: no other client ends the turn of %s; if its process has ended, evict with: %s\n", h.Ticket.Short(), evictCommand(keyOf(s), h.Ticket)); err != nil {
			return err
		}
	}
	for _, h := range s.Serving {
		if len(h.Data) == 0 {
			continue
		}
		as, data := "", string(h.Data)
		if !printable(data) {
			as, data = " (base64)", base64.StdEncoding.EncodeToString(h.Data)
		}
		if _, err := fmt.Fprintf(out, "\ndata of %s%s: %s\n", h.Ticket.Short(), as, data); err != nil {
			return err
		}
	}
	return nil
}

// kind says what kind of queue it is, as far as it is not a lock with a counter
// of its own, to print before how many are served.
func kind(s *queue.State) string {
	var words string
	switch {
	case s.Permits > 0 && len(s.Serving) == 0 && len(s.Waiting) == 0:
		words = fmt.Sprintf("semaphore of %d, ", s.Permits) // there is no count after it
	case s.Permits > 0:
		words = "semaphore, "
	}
	if s.Scope != queuelock.ScopeQueue {
		words += "scope " + scopeName(s.Scope) + ", "
	}
	return words
}

// hasReaders reports whether anybody shares the lock, or wants to.
func hasReaders(s *queue.State) bool {
	return slices.ContainsFunc(s.Serving, func(h queue.Holder) bool { return h.Shared }) ||
		slices.ContainsFunc(s.Waiting, func(w queue.Waiter) bool { return w.Shared })
}

func modeOf(shared bool) string {
	if shared {
		return "shared"
	}
	return "exclusive"
}

// named is an owner's name in one line. Of one that some other program wrote,
// there is no more than the library's own may have.
func named(owner string) string {
	owner = fmt.Sprintf("%.256s", owner)
	if printable(owner) {
		return owner
	}
	return strconv.Quote(owner)
}

// printable reports whether a text may be sent to a terminal as it is: some
// other program may have written it.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// tenths is a duration in seconds. DynamoDB's clock is not known any better.
func tenths(d time.Duration) float64 { return d.Round(100 * time.Millisecond).Seconds() }

// leftOf is what is left of a holder's lease, and of its lock delay.
func leftOf(h queue.Holder) string {
	switch {
	case h.Problem != nil:
		return h.Problem.Error()
	case h.FailClosed:
		return "no lease"
	case h.Delay > 0 && h.Remaining > 0:
		return fmt.Sprintf("%s of %s + %s", readable(h.Remaining), readable(h.TTL), readable(h.Delay))
	}
	return left(h.Remaining, h.TTL)
}

func left(remaining, ttl time.Duration) string {
	if remaining <= 0 {
		return "over"
	}
	return fmt.Sprintf("%s of %s", readable(remaining), readable(ttl))
}

// readable rounds a duration to what a person wants to know.
func readable(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
