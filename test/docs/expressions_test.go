package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// operation is one expression of the protocol, as testdata/expressions.md shows it.
type operation struct {
	heading string // begins a section, if not empty
	caption string
	match   string // finds the expression among those that were sent
}

const (
	takeStart  = `^(REMOVE expiresAt )?SET ticketNumber = if_not_exists\(ticketNumber, :base\) \+ 1, servingAfter = .*`
	ofTable    = `.* IF \(attribute_not_exists \(pk\)\) OR .*`
	flat       = `^(REMOVE expiresAt )?SET ticketNumber = ticketNumber \+ 1`
	enterStart = `^REMOVE expiresAt SET servingAfter = if_not_exists\(servingAfter, :t - 1\)`
	busyToo    = `.*\(permits\)+$`
	freeOnly   = `.*\(size \(holders\) = 0\)+$`
)

// operations lists the expressions in the order of docs/protocol.md. Each is found by the first entry that matches it.
var operations = []operation{
	{"TAKE", "An exclusive lock.", takeStart + `holdMode, "exclusive"\)` + ofTable + busyToo},
	{"", "With `NoWait`, which also requires that the lock is free.", takeStart + `holdMode, "exclusive"\)` + ofTable + freeOnly},
	{"", "A shared lock.", takeStart + `holdMode, "shared"\)`},
	{"", "A semaphore.", takeStart + `permits = :permits`},
	{"", "A lock on the user's item.", takeStart + `attribute_exists \(id\)`},
	{"", "By a client whose engine refuses a function within a function.", flat + `, servingAfter` + busyToo},
	{"", "The same with `NoWait`.", flat + `, servingAfter` + freeOnly},
	{"", "The same client after a refusal without a record: the seed.", `^REMOVE expiresAt SET ticketNumber = :base \+ 1, `},
	{"ENQUEUE", "", `^IF attribute_not_exists \(pk\)$`},
	{"CLAIM", "An exclusive lock.", `^SET holders\.#id = :entry, granted = :t, holdMode = "exclusive" IF .*ticketNumber >= :t`},
	{"", "A shared lock.", `^SET holders\.#id = :entry, granted = :t, holdMode = "shared"`},
	{"", "A semaphore.", `^SET holders\.#id = :entry, granted = :t IF`},
	{"HEARTBEAT", "Of a holder. `since` is sent only if the grant had no date, until an answer shows it. After a PASS by name the first one also has `holders.#id.ttl = :ttl`.", `^SET holders\.#id\.beat = holders\.#id\.beat \+ 1, holders\.#id\.until`},
	{"", "Of a holder without a lease.", `^SET holders\.#id\.beat = holders\.#id\.beat \+ 1(, holders\.#id\.since.*)? IF`},
	{"", "Of a waiter, on its row.", `^SET beat = beat \+ 1`},
	{"CONFIRM", "", `^REMOVE holders\.#id\.until, holders\.#id\.ttl`},
	{"SETDATA", "With data.", `^SET holders\.#id\.dataSet = :n, holders\.#id\.data`},
	{"", "Without data.", `^REMOVE holders\.#id\.data `},
	{"FENCE", "One item of the transaction of `Transact`.", `^SET holders\.#id\.made = :n IF`},
	{"SETTLE", "", `^SET holders\.#id\.made = :n \+ 1 IF`},
	{"DOWNGRADE", "", `^SET holdMode = "shared", holders\.#id\.mode`},
	{"RELEASE", "The fast form with the result of package `once`.", `^REMOVE holders, .* result = `},
	{"", "The hand-off with such a result.", `^REMOVE holders\.#id .* result = `},
	{"", "The fast form. After a fenced transaction that was given up before it was visible, each form also has `ADD unsettled :times`, or SET if there can be no other holder. An exclusive holder also replaces times that are far ahead. After one that was refused, it has the condition on `made` of UpdateAndRelease below. Later forms may have `DELETE unsettled :times`.", `^REMOVE holders, servingAfter, holdMode SET granted = ticketNumber, released = :mark, turn`},
	{"", "The fast form with `Config.Forget`. RESET sets the attribute in the same way.", `^REMOVE holders, servingAfter, holdMode SET granted = ticketNumber, expiresAt = :expiresAt, released = :mark, turn`},
	{"", "The hand-off.", `^REMOVE holders\.#id SET released = :mark, turn = :turn IF`},
	{"", "With the CLAIM of the next waiter: PASS. By name, the entry has the lease of the waiter's row, and `named`.", `^REMOVE holders\.#id SET released = :mark, turn = :turn, holders\.#id = :entry, granted = :t, holdMode = "exclusive" IF`},
	{"", "The fast form with the user's update of the item, here `amount = amount + 1` on the condition that `amount` exists.", `^REMOVE holders, servingAfter, holdMode SET granted = ticketNumber, released = :mark, amount`},
	{"", "The hand-off with the user's update of the item.", `^REMOVE holders\.#id SET released = :mark, amount`},
	{"", "The hand-off of a lock on the user's item.", `^REMOVE holders\.#id SET released = :mark IF`},
	{"RESET", "", `^REMOVE holders, servingAfter, holdMode SET granted = ticketNumber IF`},
	{"EVICT and SWEEP", "A holder whose lease has ended, or that `Evict` names. Here its entry has neither `ticket` nor `made`; both must be as they were read.", `^REMOVE holders\.#id SET evicted = :mark IF .*beat = :beat`},
	{"", "A holder without a lease, by an operator.", `^REMOVE holders\.#id SET evicted = :mark IF .*failClosed`},
	{"", "A row whose lease has ended.", `^IF .*beat = :beat\)+ AND \(id = :id`},
	{"RESUME", "A lock.", `^REMOVE holders\.#id SET holders\.#id = :entry, evicted`},
	{"", "A place in the queue.", `begins_with \(id, :from\)`},
	{"CLEAN UP", "The waiter's row.", `^IF id = :id$`},
	{"", "Ids of unknown outcome. The conditions of several ids are joined by OR.", `^REMOVE holders\.#id IF`},
	{"NUMBER", "", `^SET ticketNumber = if_not_exists\(ticketNumber, :base\) \+ 1 IF`},
	{"ENTER", "An exclusive lock.", enterStart + busyToo},
	{"", "With `NoWait`, which also requires that the lock is free.", enterStart + freeOnly},
	{"RAISE", "", `^SET ticketNumber = :n IF`},
}

const expressionsHeader = `# Expressions

The conditional writes of [the protocol](../../../docs/protocol.md), as the library sends them. This page is generated: ` + "`make docs`" + `
plays each operation on the table in memory, records the requests and writes them here. A test fails when a request has an
expression that is not listed, or when a listed one is not sent.

- ` + "`#id`" + ` stands for the id of a holder, ` + "`:…`" + ` for a value. ` + "`:t`" + ` is the client's ticket,
  ` + "`:base`" + ` the number before the first of a new record or counter.
- ` + "`:{id: entry}`" + ` is a map with one entry, ` + "`:mark`" + ` a release or eviction mark, ` + "`:n`" + ` the number of a call or transaction.
- Redundant parentheses are left out. The keys are named ` + "`pk`" + ` and ` + "`sk`" + `.
- On the user's item each attribute of the record has the prefix ` + "`lock_`" + `, which is left out here.
- Each update asks for the item as it is afterwards, except the fast RELEASE, a row's heartbeat and RAISE. Each write asks
  for the item as it was if it is refused.
`

// TestExpressions plays each operation, and compares what was sent with testdata/expressions.md.
func TestExpressions(t *testing.T) {
	sent := playAll(t)
	found := make([][]request, len(operations))
	for _, r := range sent {
		i := slices.IndexFunc(operations, func(o operation) bool { return regexp.MustCompile(o.match).MatchString(r.expression) })
		if i < 0 {
			t.Errorf("no operation of the list has the expression\n%s", r.expression)
			continue
		}
		found[i] = append(found[i], r)
	}

	var page strings.Builder
	page.WriteString(expressionsHeader)
	for i, o := range operations {
		if len(found[i]) == 0 {
			t.Errorf("no request matched %s %s %s", o.heading, o.caption, o.match)
			continue
		}
		if o.heading != "" {
			fmt.Fprintf(&page, "\n## %s\n", o.heading)
		}
		r := longest(t, found[i])
		if o.caption != "" {
			fmt.Fprintf(&page, "\n%s\n", o.caption)
		}
		fmt.Fprintf(&page, "\n```expression\n%s\n%s\n```\n", r.operation, layOut(r.expression))
	}
	generated(t, "test/docs/testdata/expressions.md", page.String())
}

// optionalSince is left out of heartbeats unless the grant had no date.
const optionalSince = `, holders.#id.since = if_not_exists(holders.#id.since, :since)`

// longest returns the request that the others are, but for an optional part.
func longest(t *testing.T, all []request) request {
	t.Helper()
	most := slices.MaxFunc(all, func(a, b request) int { return len(a.expression) - len(b.expression) })
	for _, r := range all {
		if r.expression != most.expression && r.expression != strings.Replace(most.expression, optionalSince, "", 1) {
			t.Errorf("two expressions of one operation:\n%s\n%s", r.expression, most.expression)
		}
	}
	return most
}

// abstract puts the names of the page into the places of ids and values.
func abstract(expression string) string {
	for _, r := range abstractions {
		expression = r.pattern.ReplaceAllString(expression, r.name)
	}
	return expression
}

type abstraction struct {
	pattern *regexp.Regexp
	name    string
}

var abstractions = func() (all []abstraction) {
	for _, r := range [][2]string{
		{`lock_`, ""}, // the prefix of names on items
		{`"[a-z2-7]+-r\d+-\d+"`, ":id"},
		{`\{[a-z2-7]{26}-n?\d+: \{[^}]*\}\}`, ":{id: entry}"},
		{`holders\.[a-z2-7]{26}-n?\d+`, "holders.#id"},
		{`(turn|result) = \{[^}]*\}`, "$1 = :$1"},
		{`(released|evicted) = \{[^}]*\}`, "$1 = :mark"},
		{`if_not_exists\(evicted, \{[^}]*\}\)`, "if_not_exists(evicted, :mark)"},
		{`= \{[^}]*\}`, "= :entry"},
		{`holders\.#id\.made = [13579]\b`, "holders.#id.made = :n + 1"},
		{`holders\.#id\.made (=|<) \d+`, "holders.#id.made $1 :n"},
		{`(expiresAt|until|since) (=|<=) \d+`, "$1 $2 :$1"},
		{`(holders\.#id\.since), \d+`, "$1, :since"},
		{`(granted <|granted =|granted <=|ticketNumber =) [1-9]\d*`, "$1 :t"},
		{`(holders\.#id\.ticket =) \d+`, "$1 :t"},
		{`ticketNumber >= \d+`, "ticketNumber >= :t"},
		{`servingAfter = \d+`, "servingAfter = :t - 1"},
		{`if_not_exists\(servingAfter, \d+\)`, "if_not_exists(servingAfter, :t - 1)"},
		{`if_not_exists\(ticketNumber, \d+\)`, "if_not_exists(ticketNumber, :base)"},
		{`SET ticketNumber = :t, servingAfter = if_not_exists\(servingAfter, :t - 1\)`,
			"SET ticketNumber = :base + 1, servingAfter = if_not_exists(servingAfter, :base)"},
		{`BETWEEN 0 AND \d{1,9}\)`, "BETWEEN 0 AND :t - 1)"},
		{`SET ticketNumber = :t IF ticketNumber < \d+`, "SET ticketNumber = :n IF ticketNumber < :n"},
		{`servingAfter < [1-9]\d*`, "servingAfter < :t - 1"},
		{`(IF \(holders\.#id\.beat|AND \(beat) = \d+`, "$1 = :beat"},
		{`dataSet (=|<=) \d+`, "dataSet $1 :n"},
		{`(holders\.#id\.data =) [^ ,]+`, "$1 :data"},
		{`(begins_with \(id,) "[a-z2-7]+-"`, "$1 :from"},
		{`(size \(holders\) <) [1-9]\d*`, "$1 :readers"},
		{`permits = \d+`, "permits = :permits"},
		{`^IF \(+id = :id\)( OR \(id = :id\)\)?)+$`, "IF id = :id"}, // of a row with several ids
		{`9{37}8`, "10^38-2"},
		// An eviction of an entry that carries its ticket, as of one that does not.
		{`\(\(holders\.#id\.ticket = :t\) AND \(attribute_not_exists \(holders\.#id\.made\)\)\)`,
			"(((attribute_not_exists (holders.#id.ticket)) AND (servingAfter = :t - 1)) AND (attribute_not_exists (holders.#id.made)))"},
	} {
		all = append(all, abstraction{regexp.MustCompile(r[0]), r[1]})
	}
	return all
}()
