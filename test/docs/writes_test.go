package docs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// because has the conditions of each write, in the order of docs/writes.md, and the case that needs each.
var because = []struct {
	write string
	cases [][2]string // condition, case
}{
	{"TAKE", [][2]string{
		{"counter", "`ticketNumber` is a number from 0 to 10^38-2. DynamoDB keeps 38 digits: after the last number a ticket would be issued twice."},
		{"no item", "In place of all others: the request creates the record, and never overwrites an item of another program."},
		{"no counter", "The same on the user's item, which must have none of the record's attributes."},
		{"holders well formed", "`holders`, `servingAfter` and `granted` are those of a record. Another program's item is not taken for a lock."},
		{"granted well formed", "`granted` is from 0 to `ticketNumber`. Above it, no ticket could be granted."},
		{"mode well formed", "`holdMode` is one of its two values, if it is present."},
		{"scope", "A wider counter issues the tickets of a record with a scope, so its own numbers would not be in order with them."},
		{"kind", "The record of a semaphore is not a lock, and the other way round."},
		{"mode known", "Of a shared ticket: holders without `holdMode` may be exclusive."},
		{"room", "With `NoWait`: a busy lock costs one request, and no ticket."},
	}},
	{"TAKE that seeds", [][2]string{
		{"no item", "Two clients seed one record. The second would begin it again, with the tickets of the first."},
	}},
	{"NUMBER", [][2]string{
		{"counter", "As of TAKE."},
		{"no item", "As of TAKE."},
	}},
	{"RAISE", [][2]string{
		{"lower", "Two clients raise a counter. The later request would set it back."},
	}},
	{"ENTER", [][2]string{
		{"first with its ticket", "A late ENTER of 5 would set `ticketNumber` back from 6. Each ENTER is applied at most once."},
		{"scope", "The tickets of another counter are in no order with this one's."},
		{"holders well formed", "As of TAKE."},
		{"granted well formed", "As of TAKE."},
		{"mode well formed", "As of TAKE."},
		{"kind", "As of TAKE."},
		{"mode known", "As of TAKE."},
		{"room", "With `NoWait`, as of TAKE."},
		{"holders share", "Of a shared ticket with `NoWait`, as of CLAIM."},
		{"few readers", "Of a shared ticket with `NoWait`, as of CLAIM."},
	}},
	{"ENQUEUE", [][2]string{
		{"no row", "A late duplicate would overwrite a renewed row with an old lease. A row of another client is not touched."},
	}},
	{"CLAIM", [][2]string{
		{"room", "Two clients that read \"no holder\" both claim, and the second must fail. An absent `holders` has no size, so an idle queue is not claimed."},
		{"holders share", "Of a shared ticket: it joins holders only if they share."},
		{"few readers", "Of a shared ticket: more holders than the record sustains heartbeats for would lose their leases."},
		{"not granted", "A with 5 pauses before its CLAIM; B with 6 is granted and leaves. A's CLAIM would make tokens fall from 6 to 5."},
		{"after the first served", "5 is granted by TAKE, which does not set `granted`, and handed off. A late CLAIM with 5 would grant the token again."},
		{"issued", "The record may have been deleted and seeded again. `granted` above the counter would wedge it."},
	}},
	{"HEARTBEAT", [][2]string{
		{"holder", "An evicted holder must not return. An entry whose `beat` is no number cannot be renewed, and the refusal shows it."},
		{"no later ticket", "A late duplicate of a TAKE puts the id back after the turn has ended. Such an orphaned entry is not the lock once a later ticket was granted, unless holders share or there are permits."},
		{"its ticket", "Such an entry has a later ticket than the holder."},
		{"not late", "Heartbeat 1 (until 10:01) is delayed, heartbeat 2 (until 10:02) is confirmed. Applied now, heartbeat 1 would let others evict a holder that relies on 10:02."},
	}},
	{"HEARTBEAT of a row", [][2]string{
		{"its id", "A row that was swept and put again is another waiter's, or another attempt's."},
		{"not late", "As of HEARTBEAT."},
	}},
	{"CONFIRM", [][2]string{
		{"holder", "An evicted holder must not become endless."},
		{"no later ticket", "As of HEARTBEAT."},
		{"its ticket", "As of HEARTBEAT: an orphaned entry would block the queue until an operator removes it."},
		{"not evicted or confirmed", "EVICT of the provisional lease requires `beat` 0 too, so one of the two is refused, whatever clocks say."},
	}},
	{"SETDATA", [][2]string{
		{"holder", "As of HEARTBEAT."},
		{"no later ticket", "As of HEARTBEAT."},
		{"its ticket", "As of HEARTBEAT."},
		{"not late", "A call that arrives after a later one would restore older data."},
	}},
	{"DOWNGRADE", [][2]string{
		{"holder", "As of HEARTBEAT."},
		{"no later ticket", "As of HEARTBEAT."},
		{"its ticket", "As of HEARTBEAT."},
		{"alone", "A refusal with other holders shows that an earlier attempt was applied and others have joined."},
		{"transaction not made", "Others would join before a later transaction of the holder is visible."},
	}},
	{"FENCE", [][2]string{
		{"holder", "A paused process writes after its eviction."},
		{"no later ticket", "Of a holder that is alone: a write from before its downgrade arrives when others have joined."},
		{"its ticket", "As of HEARTBEAT."},
		{"transaction not made", "A copy arrives later than DynamoDB remembers its token, and would be applied twice."},
	}},
	{"SETTLE", [][2]string{
		{"holder", "As of FENCE."},
		{"its ticket", "As of HEARTBEAT."},
		{"transaction not made", "The transaction was applied after all: the refusal shows its number."},
	}},
	{"RELEASE", [][2]string{
		{"holder", "The second of two copies would end the turn of the next holder."},
		{"its ticket", "A release must not take the orphaned entry of a repeated TAKE for the lock."},
		{"alone", "The fast form removes all holders."},
		{"none outstanding", "The fast form, and B takes 6 in between: C with 7 would be granted by TAKE before B."},
		{"transaction not made", "A copy of a refused transaction arrives, and would commit unnoticed while the lock is released."},
		{"few times", "Beside other holders: the set `unsettled` must not grow without end."},
		{"times as read", "In place of that: a time that another holder has added since must not be replaced."},
	}},
	{"PASS", [][2]string{
		{"holder", "As of RELEASE."},
		{"its ticket", "As of RELEASE."},
		{"alone", "The lock is exclusive, so the holder is the only one."},
		{"not granted", "As of CLAIM."},
		{"after the first served", "As of CLAIM."},
		{"issued", "As of CLAIM."},
	}},
	{"RESET", [][2]string{
		{"no holder", "A client claims in between, and would lose its entry."},
		{"none outstanding", "A with 5 waits while B with 6 has given up. A RESET would raise the floor above A. So no ticket but one that was granted may be outstanding."},
	}},
	{"EVICT", [][2]string{
		{"beat as read", "B renews between A's look and A's removal."},
		{"ticket as read", "The mark must name the right turn, or its outcome would be misread."},
		{"transactions as read", "The mark has the number of the holder's last transaction, which shows the outcome of one without an answer."},
	}},
	{"EVICT of a fail-closed holder", [][2]string{
		{"fail closed", "The entry of another holder is evicted by its lease only."},
		{"no lease", "A provisional grant ends by its own lease."},
		{"ticket as read", "As of EVICT."},
		{"transactions as read", "As of EVICT."},
	}},
	{"SWEEP", [][2]string{
		{"there", "A row without `beat` and `id` would be found as read when it is missing."},
		{"beat as read", "Its owner renews it in between."},
		{"id as read", "The row was put again in between."},
	}},
	{"CLEAN UP", [][2]string{
		{"one is there", "Nothing is written if no request of unknown outcome was applied."},
	}},
	{"CLEAN UP of a row", [][2]string{
		{"its id", "The row of another client is not deleted."},
	}},
	{"RESUME", [][2]string{
		{"holder", "Two processes resume one lock: the second is refused."},
		{"no later ticket", "Of an exclusive lock: as of HEARTBEAT."},
		{"not downgraded", "Of an exclusive lock: others may have joined."},
		{"ticket as read", "As of EVICT."},
		{"transactions as read", "As of EVICT."},
	}},
	{"RESUME of a row", [][2]string{
		{"no row of another", "The row of another client is not touched. One that the handle names is replaced."},
	}},
}

const writesHeader = `# Writes

What each conditional write of [the protocol](protocol.md) changes, its conditions, and for each condition the case that
needs it. The writes and the names of their conditions are those of the code. This page is generated: ` + "`make docs`" + `
plays each operation and records the writes. A test fails if a condition has no case here, or a case no condition.

A write has some of the conditions and changes that are listed, as its case requires. "If absent" means that the
attribute stays as it is if it is there.
`

// sentWrites are the conditions and the changes of each write that was sent, by its name.
type sentWrites struct {
	mu                  sync.Mutex
	conditions, changes map[string][]string
}

// see is a clause.Leave that leaves nothing.
func (s *sentWrites) see(w clause.Write, condition string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.conditions[w.Name], condition) {
		s.conditions[w.Name] = append(s.conditions[w.Name], condition)
	}
	for _, change := range w.Changes() {
		if !slices.Contains(s.changes[w.Name], change) {
			s.changes[w.Name] = append(s.changes[w.Name], change)
		}
	}
	return false
}

// TestWrites plays each operation, and compares the writes that were sent with docs/writes.md.
func TestWrites(t *testing.T) {
	sent := &sentWrites{conditions: map[string][]string{}, changes: map[string][]string{}}
	clause.Leave = sent.see
	defer func() { clause.Leave = nil }()
	playAll(t)
	playSeldom(t)
	delete(sent.conditions, "") // of a record that was read

	var page strings.Builder
	page.WriteString(writesHeader)
	for _, of := range because {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| condition | the case that needs it |\n|---|---|\n", of.write, changesOf(of.write, sent.changes[of.write]))
		for _, c := range of.cases {
			i := slices.Index(sent.conditions[of.write], c[0])
			if i < 0 {
				t.Errorf("%s has no condition %q", of.write, c[0])
				continue
			}
			sent.conditions[of.write] = slices.Delete(sent.conditions[of.write], i, i+1)
			fmt.Fprintf(&page, "| %s | %s |\n", c[0], c[1])
		}
	}
	for write, conditions := range sent.conditions {
		for _, condition := range conditions {
			t.Errorf("no case needs %q of %s", condition, write)
		}
	}
	generated(t, "docs/writes.md", page.String())
}

// changesOf returns a sentence with all changes.
func changesOf(write string, changes []string) string {
	switch write {
	case "ENQUEUE", "RESUME of a row":
		return "Puts the row."
	case "SWEEP", "CLEAN UP of a row":
		return "Deletes the row."
	}
	slices.Sort(changes)
	var parts []string
	last := ""
	for _, change := range changes {
		i := strings.LastIndex(change, " ")
		verb, name := change[:i], "`"+change[i+1:]+"`"
		if before, ok := strings.CutSuffix(change, " the TTL attribute"); ok {
			verb, name = before, "the TTL attribute"
		}
		if verb == last {
			parts[len(parts)-1] += ", " + name
		} else {
			parts = append(parts, verb+" "+name)
		}
		last = verb
	}
	sentence := strings.Join(parts, "; ")
	return strings.ToUpper(sentence[:1]) + sentence[1:] + "."
}

// playSeldom plays the forms of writes that playAll does not: an accepted grant by name, shared tickets of a wider scope,
// and times of transactions that were given up before they were visible.
func playSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		var clients []*queuelock.Client
		for _, name := range []string{"a", "b", "c"} {
			c, _ := locktest.OpenMet(t, table, name, queuelock.Config{})
			clients = append(clients, c)
		}
		first := acquire(t, clients[0], order, waitpolicy.Forever)
		second := queueUp(t.Context(), clients[1])
		time.Sleep(300 * time.Millisecond)
		third := queueUp(t.Context(), clients[2])
		time.Sleep(300 * time.Millisecond)
		release(t, first)
		release(t, (<-second).must(t))
		named := (<-third).must(t)
		time.Sleep(5 * time.Second)
		release(t, named)

		wide, _ := locktest.OpenMet(t, table, "wide", queuelock.Config{Scope: ticket.ScopeEntity})
		key := queuelock.Key{Entity: "wide"}
		reader := acquire(t, wide, key, waitpolicy.NoWait, queuelock.Shared())
		release(t, acquire(t, wide, key, waitpolicy.NoWait, queuelock.Shared()))
		release(t, reader)

		playUnsettled(t)
	})
}

func playUnsettled(t *testing.T) {
	const many = 15
	table := newTable(t)
	c, db := locktest.OpenMet(t, table, "c", queuelock.Config{RequestTimeout: time.Second})
	db.Inject(queuelocktest.SplitTransaction(15*time.Second, 0))
	var locks []*queuelock.Lock
	for range many {
		locks = append(locks, acquire(t, c, order, waitpolicy.Forever, queuelock.Permits(2*many)))
	}
	var all sync.WaitGroup
	for i, lock := range locks {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			item := deposit(table)
			item.Update.Key = map[string]types.AttributeValue{"pk": text("account"), "sk": text(fmt.Sprint(i))}
			if err := lock.Transact(ctx, item); err == nil {
				t.Error("a transaction was visible at once")
			}
		})
	}
	all.Wait()
	for _, lock := range locks {
		release(t, lock)
		time.Sleep(5 * time.Millisecond)
	}
	later := acquire(t, c, order, waitpolicy.Forever, queuelock.Permits(2*many))
	time.Sleep(time.Hour)
	release(t, later)
}
