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
	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/planted"
	"github.com/queuelock/queuelock/internal/testbed/conditions"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

const writesHeader = `# Writes

What each conditional write of [the protocol](../../../docs/protocol.md) changes, its conditions, and for each condition the case that
needs it. The writes and the names of their conditions are those of the code. This page is generated: ` + "`make docs`" + `
takes each case from ` + "`internal/testbed/conditions`" + `, where a test plays it as a story: with the condition the write is
refused, and without it one of these is broken. A condition without a case fails the test, as does a case without a
condition.

| is broken without the condition | |
|---|---|
`

const writesNote = `
In parentheses is why a condition is kept that no story needs: what it refuses does no harm, or cannot happen, as far as
the other conditions are kept.

A write has some of the conditions and changes that are listed, as its case requires. "If absent" means that the
attribute stays as it is if it is there.
`

// parts are conditions or changes of each write, by its name.
type parts map[string][]string

func (p parts) add(write, part string) {
	if !slices.Contains(p[write], part) {
		p[write] = append(p[write], part)
	}
}

// TestWrites writes testdata/writes.md from the cases. Then it plays each operation, and checks that what is sent is on the
// page.
func TestWrites(t *testing.T) {
	named, changes := parts{}, parts{}
	for _, w := range conditions.Shapes() {
		for _, condition := range w.Conditions() {
			named.add(w.Name, condition)
		}
		for _, change := range w.Changes() {
			changes.add(w.Name, change)
		}
	}
	var page strings.Builder
	page.WriteString(writesHeader)
	for _, i := range conditions.Invariants {
		fmt.Fprintf(&page, "| %s | %s |\n", i.Invariant, i.Says)
	}
	page.WriteString(writesNote)
	write := ""
	for _, c := range conditions.Cases() {
		if c.Write != write {
			write = c.Write
			fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| condition | the case that needs it | keeps |\n|---|---|---|\n", write, changesOf(write, changes[write]))
		}
		fmt.Fprintf(&page, "| %s | %s | %s |\n", c.Condition, c.Because, c.Keeps())
	}
	generated(t, "test/docs/testdata/writes.md", page.String())

	var mu sync.Mutex
	missing := parts{}
	planted.Leave = func(w clause.Write, condition string) bool { // leaves nothing
		mu.Lock()
		defer mu.Unlock()
		if w.Name == "" {
			return false // of a record that was read
		}
		for _, part := range append(w.Changes(), condition) {
			if !slices.Contains(named[w.Name], part) && !slices.Contains(changes[w.Name], part) {
				missing.add(w.Name, part)
			}
		}
		return false
	}
	defer func() { planted.Leave = nil }()
	playAll(t)
	playSeldom(t)
	for write, parts := range missing {
		t.Errorf("%s was sent with %q, which the page does not have", write, parts)
	}
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
