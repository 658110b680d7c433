package repository_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// What README.md and docs/ say is compared with the code here, as far as a test
// can.

// costRow is a line of the README's table of costs.
type costRow struct {
	what  string
	spent queuelocktest.Tally
}

// TestRequestsOfTheREADME measures what the README's table of requests says, and
// prints the table: `make bench`.
func TestRequestsOfTheREADME(t *testing.T) {
	var rows []costRow
	add := func(what string, spent queuelocktest.Tally) { rows = append(rows, costRow{what, spent}) }
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{})
		b, dbB := locktest.OpenMet(t, table, "b", queuelock.Config{})
		fresh, _ := locktest.Open(t, table, "c", queuelock.Config{})

		var held *queuelock.Lock
		first := locktest.Cost(table, func() { held = locktest.Acquire(t, a, waitpolicy.Forever) })
		locktest.Release(t, held)
		add("acquire an idle lock", locktest.Cost(table, func() { held = locktest.Acquire(t, a, waitpolicy.Forever) }))
		add("release it, nobody queued", locktest.Cost(table, func() { locktest.Release(t, held); time.Sleep(time.Second) }))
		add("the first use of a key", first)
		add("acquire an idle lock, the first of a process", locktest.Cost(table, func() { held = locktest.Acquire(t, fresh, waitpolicy.Forever) }))
		locktest.Release(t, held)

		held = locktest.Acquire(t, a, waitpolicy.Forever)
		add("`NoWait` on a busy lock", locktest.Cost(table, func() {
			if _, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Errorf("NoWait on a busy lock: %v", err)
			}
		}))

		// One turn of one who waits for a second, which is less than its row's
		// first heartbeat takes.
		before := dbB.Counts()
		waiting := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
		time.Sleep(time.Second)
		locktest.Release(t, held)
		got := <-waiting
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		locktest.Release(t, got.Lock)
		time.Sleep(time.Second) // what runs in the background
		spent := dbB.Counts().Sub(before)
		polls := locktest.Plus(spent["GetItem"], spent["Query"])
		add("queue, acquire and release, without polls", locktest.Minus(spent.Total(), polls))
		add("one poll", each(t, polls))

		held = locktest.Acquire(t, a, waitpolicy.Forever)
		add("one heartbeat of a holder", locktest.Cost(table, func() { time.Sleep(31 * time.Second) }))
		waiting = locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
		time.Sleep(time.Second)
		queued := dbB.Counts()
		time.Sleep(20 * time.Second)
		add("one heartbeat of a waiter", each(t, dbB.Counts().Sub(queued)["UpdateItem"]))
		locktest.Release(t, held)
		if got := <-waiting; got.Err != nil {
			t.Error(got.Err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// Each in a process of its own: those of one process share one poller.
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		locktest.Acquire(t, a, waitpolicy.Forever)
		for n := 1; n <= 30; n++ {
			c, db := locktest.OpenMet(t, table, fmt.Sprint("waiter-", n), queuelock.Config{})
			locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
			time.Sleep(100 * time.Millisecond) // its row stands, and it has looked
			if n == 30 {
				before := db.Counts()
				time.Sleep(5 * time.Second)
				add("one poll, behind 29 waiters", each(t, db.Counts().Sub(before)["Query"]))
			}
		}
	})

	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		c, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		locktest.ReleaseAll(t, locktest.AcquireAll(t, c, waitpolicy.Forever, "a", "b", "c"))
		var locks *queuelock.Locks
		add("acquire an idle lock, with a wider scope", locktest.Cost(table, func() { locks = locktest.AcquireAll(t, c, waitpolicy.Forever, "a") }))
		locktest.ReleaseAll(t, locks)
		add("acquire three idle locks with one ticket", locktest.Cost(table, func() { locks = locktest.AcquireAll(t, c, waitpolicy.Forever, "a", "b", "c") }))
		add("release the three", locktest.Cost(table, func() { locktest.ReleaseAll(t, locks) }))
	})
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.Forever))
		lock := locktest.Acquire(t, a, waitpolicy.Forever)
		add("`ReleaseWith` one item, nobody queued", locktest.Cost(table, func() {
			if err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)); err != nil {
				t.Error(err)
			}
		}))
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		u.Put(whole)
		var item *queuelock.ItemLock
		add("`LockItem`, the first lock of an item", locktest.Cost(table, func() { item = locktest.LockItem(t, a, u.Key(key), waitpolicy.Forever) }))
		add("`UpdateAndRelease`, nobody queued", locktest.Cost(table, func() { locktest.Updated(t, item, locktest.AddOne()) }))
		add("`LockItem`, idle", locktest.Cost(table, func() { item = locktest.LockItem(t, a, u.Key(key), waitpolicy.Forever) }))
		locktest.Release(t, item.Lock)
	})

	var printed strings.Builder
	fmt.Fprintln(&printed, "| case | requests | write units | read units |")
	fmt.Fprintln(&printed, "|---|---|---|---|")
	for _, row := range rows {
		fmt.Fprintf(&printed, "| %s | %d | %g | %g |\n", row.what, row.spent.Sent, row.spent.WriteUnits, row.spent.ReadUnits)
	}
	t.Logf("measured:\n\n%s", printed.String())
	for _, name := range []string{"README.md", "docs/protocol.md"} {
		if !strings.Contains(read(t, name), printed.String()) {
			t.Errorf("%s does not hold the table as it was measured:\n\n%s", name, printed.String())
		}
	}
}

// each is one request's share of requests that are all alike.
func each(t *testing.T, all queuelocktest.Tally) queuelocktest.Tally {
	t.Helper()
	if all.Sent == 0 {
		t.Fatal("nothing was sent")
	}
	n := float64(all.Sent)
	return queuelocktest.Tally{Sent: 1, ReadUnits: all.ReadUnits / n, WriteUnits: all.WriteUnits / n}
}

// page is one of the documents.
type page struct {
	name  string
	lines []string
}

// pages reads README.md, CHANGELOG.md and docs/.
func pages(t *testing.T) []page {
	t.Helper()
	names, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []page
	for _, name := range append([]string{"README.md", "CHANGELOG.md"}, names...) {
		all = append(all, page{name, strings.Split(read(t, name), "\n")})
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// snippet is a fenced block of a page.
type snippet struct {
	where, language string
	lines           []string // without indentation
}

func snippets(t *testing.T) []snippet {
	t.Helper()
	var all []snippet
	for _, p := range pages(t) {
		inside := false
		for i, line := range p.lines {
			language, fence := strings.CutPrefix(line, "```")
			switch {
			case fence && !inside:
				inside = true
				all = append(all, snippet{where: fmt.Sprintf("%s:%d", p.name, i+1), language: language})
			case fence:
				inside = false
			case inside:
				last := &all[len(all)-1]
				last.lines = append(last.lines, strings.TrimSpace(line))
			}
		}
		if inside {
			t.Errorf("%s ends inside a fenced block", p.name)
		}
	}
	return all
}

// sources joins all files of the module with that suffix, or calls visit with
// each if it is given.
func sources(t *testing.T, root, suffix string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(name, suffix):
			all.WriteString(read(t, name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestGoSnippetsStandInCompiledExamples(t *testing.T) {
	var compiled []string
	for _, line := range strings.Split(read(t, "example_test.go")+read(t, "example_fence_test.go")+read(t, "example_failclosed_test.go")+read(t, "example_item_test.go")+read(t, "example_several_test.go")+read(t, "queuelocktest/example_test.go"), "\n") {
		compiled = append(compiled, strings.TrimSpace(line))
	}
	stands := func(lines []string) bool {
		for i := 0; i+len(lines) <= len(compiled); i++ {
			if slices.Equal(compiled[i:i+len(lines)], lines) {
				return true
			}
		}
		return false
	}
	found := 0
	for _, s := range snippets(t) {
		if s.language != "go" {
			continue
		}
		found++
		if !stands(s.lines) {
			t.Errorf("%s: the snippet stands in no compiled example:\n%s", s.where, strings.Join(s.lines, "\n"))
		}
		for _, line := range s.lines {
			if regexp.MustCompile(`\b_(, _)* :?= |//nolint`).MatchString(line) {
				t.Errorf("%s discards a value: %s", s.where, line)
			}
		}
	}
	if found == 0 {
		t.Error("there is no Go snippet at all")
	}
}

// TestExpressionsOfTheProtocolAreThoseThatAreSent plays what leads to each
// operation, and compares what was sent with the document, with names and
// values as the document has them.
func TestExpressionsOfTheProtocolAreThoseThatAreSent(t *testing.T) {
	sent := map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		var mu sync.Mutex
		table.Inject(queuelocktest.DelayRequest(0).Where(func(r queuelocktest.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			// The prefix of the names on items.
			for _, e := range strings.Split(r.Expression(), "; ") { // of a transaction, each item's
				if r.Operation != "TransactWriteItems" || strings.HasPrefix(e, "SET holders.") {
					sent[abstract(strings.ReplaceAll(e, "lock_", ""))] = true
				}
			}
			return false
		}))
		a, dbA := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		dead, dbDead := locktest.Open(t, table, "dead", queuelock.Config{})

		held := locktest.Acquire(t, a, waitpolicy.Forever) // SEED
		time.Sleep(2 * time.Second)                        // HEARTBEAT
		for _, data := range []string{"half", ""} {        // SETDATA
			if err := held.SetData(t.Context(), []byte(data)); err != nil {
				t.Error(err)
			}
		}
		if err := held.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil { // FENCE, numbered
			t.Error(err)
		}
		given, giveUp := context.WithTimeout(t.Context(), time.Second)
		defer giveUp()
		unanswered := dbA.Inject(queuelocktest.LoseRequest().Of("TransactWriteItems"))
		if err := held.Transact(given, locktest.Deposit(table, nil)); err == nil { // SETTLE
			t.Error("a transaction that was lost was made")
		}
		unanswered.Remove()
		gone, leave := context.WithCancel(t.Context())
		locktest.QueueUp(gone, dead, waitpolicy.Forever)
		time.Sleep(100 * time.Millisecond)
		waiting := locktest.QueueUp(t.Context(), b, waitpolicy.Forever) // TAKE, ENQUEUE
		time.Sleep(8 * time.Second)                                     // HEARTBEAT of the row
		dbDead.Partition()
		leave()
		time.Sleep(time.Minute)       // SWEEP
		locktest.Release(t, held)     // hand-off
		got := <-waiting              // CLAIM, LEAVE
		locktest.Release(t, got.Lock) // QUIET
		time.Sleep(time.Second)
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait)) // RELEASE, fast
		playItems(t, table, a, b)
		playModes(t, a)
		playResume(t, table, a)

		dbDead.Heal()
		held = locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.FailClosed()) // CONFIRM
		time.Sleep(31 * time.Second)                                             // its HEARTBEAT
		if err := b.Evict(t.Context(), locktest.Order, held.Ticket()); err != nil {
			t.Error(err)
		}
		<-held.Done()
		locktest.Acquire(t, dead, waitpolicy.NoWait)
		dbDead.Partition()
		held = locktest.Acquire(t, b, waitpolicy.Forever) // EVICT
		lost := dbDead.Inject(queuelocktest.LoseResponse().Of("UpdateItem").Times(1))
		dbDead.Heal()
		if _, err := dead.Acquire(t.Context(), locktest.Order, waitpolicy.For(10*time.Millisecond)); !errors.Is(err, queuelock.ErrUnavailable) {
			t.Errorf("%v, want that time is over", err)
		}
		if lost.Fired() != 1 {
			t.Error("no answer of a TAKE was lost")
		}
		locktest.Release(t, held)

		// NUMBER, REGISTER; with NoWait; RAISE
		wide, dbWide := locktest.Open(t, table, "wide", queuelock.Config{Scope: queuelock.ScopeShared})
		locktest.ReleaseAll(t, locktest.AcquireAll(t, wide, waitpolicy.NoWait, "x", "y"))
		locktest.ReleaseAll(t, locktest.AcquireAll(t, wide, waitpolicy.Forever, "x", "y"))
		locktest.ForgetCounters(t, table, dbWide)
		locktest.ReleaseAll(t, locktest.AcquireAll(t, wide, waitpolicy.Forever, "x", "y"))
	})
	documented := map[string]bool{}
	for _, s := range snippets(t) {
		if s.language == "expression" {
			expression := abstract(strings.Join(s.lines, " "))
			documented[expression] = true
			if !sent[expression] {
				t.Errorf("%s: no request had the expression\n%s", s.where, expression)
			}
		}
	}
	for expression := range sent {
		if !documented[expression] && !strings.HasPrefix(expression, "(pk = ") && expression != "" {
			t.Errorf("the protocol does not show the expression\n%s", expression)
		}
	}
}

// playItems plays what is asked of locks on items. What is asked of any record is
// the same, but for the names.
func playItems(t *testing.T, table *queuelocktest.Table, a, b *queuelock.Client) {
	key, whole := locktest.OrderItem()
	u := locktest.NewItemTable(t, table, key)
	u.Put(whole)
	lock := locktest.LockItem(t, a, u.Key(key), waitpolicy.Forever) // seeded
	waiting := locktest.QueueUpForItem(t.Context(), b, u.Key(key), waitpolicy.Forever)
	time.Sleep(100 * time.Millisecond)
	locktest.Updated(t, lock, locktest.AddOne(), expression.AttributeExists(expression.Name("amount"))) // refused, then the hand-off
	got := <-waiting                                                                                    // CLAIM
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	locktest.Release(t, got.Lock.Lock)
	time.Sleep(time.Second)
}

// playModes plays what is asked of holders that are not alone.
func playModes(t *testing.T, c *queuelock.Client) {
	for reason, opt := range map[string]queuelock.Option{"read": queuelock.Shared(), "permit": queuelock.Permits(2)} {
		key := queuelock.Key{Entity: locktest.Order.Entity, Reason: reason}
		var locks []*queuelock.Lock
		for range 2 { // seed; TAKE, CLAIM
			lock, err := c.Acquire(t.Context(), key, waitpolicy.For(time.Minute), opt)
			if err != nil {
				t.Error(err)
				return
			}
			locks = append(locks, lock)
		}
		for _, lock := range locks {
			locktest.Release(t, lock)
		}
	}
	held := locktest.Acquire(t, c, waitpolicy.NoWait)
	if err := held.Downgrade(t.Context()); err != nil {
		t.Error(err)
	}
	locktest.Release(t, held)
}

// playResume lets a place and a lock go on under another client.
func playResume(t *testing.T, table *queuelocktest.Table, c *queuelock.Client) {
	crashes, db := locktest.Open(t, table, "crashes", queuelock.Config{})
	held := locktest.Acquire(t, crashes, waitpolicy.NoWait)
	places := make(chan queuelock.Handle, 10)
	go func() {
		if _, err := crashes.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, queuelock.OnHandle(func(h queuelock.Handle) { places <- h })); err == nil {
			t.Error("a process that has crashed was served")
		}
	}()
	time.Sleep(time.Second)
	db.Partition()
	for _, handle := range []queuelock.Handle{held.Handle(), <-places} {
		lock, err := c.Resume(t.Context(), handle, waitpolicy.For(time.Minute))
		if err != nil {
			t.Error(err)
			return
		}
		locktest.Release(t, lock)
	}
}

// abstract puts the names of the document into the places of ids and values.
func abstract(expression string) string {
	for _, r := range []struct{ pattern, name string }{
		{`"[a-z2-7]+-r\d+-\d+"`, ":id"},
		{`\{[a-z2-7]{26}-\d+: \{[^}]*\}\}`, ":{id: entry}"},
		{`holders\.[a-z2-7]{26}-\d+`, "holders.#id"},
		{`turn = \{[^}]*\}`, "turn = :turn"},
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
		{`BETWEEN 0 AND \d{1,9}\)`, "BETWEEN 0 AND :t - 1)"},
		{`SET ticketNumber = :t IF ticketNumber < \d+`, "SET ticketNumber = :n IF ticketNumber < :n"},
		{`servingAfter < [1-9]\d*`, "servingAfter < :t - 1"},
		{`beat = \d+`, "beat = :beat"},
		{`dataSet (=|<=) \d+`, "dataSet $1 :n"},
		{`(holders\.#id\.data =) [^ ,]+`, "$1 :data"},
		{`, holders\.#id\.since = if_not_exists\(holders\.#id\.since, :since\)`, ""}, // left out where it is not known
		{`(begins_with \(id,) "[a-z2-7]+-"`, "$1 :from"},
		{`(size \(holders\) <) [1-9]\d*`, "$1 :readers"},
		{`permits = \d+`, "permits = :permits"},
		{`^IF \(+id = :id\)( OR \(id = :id\)\)?)+$`, "IF id = :id"}, // one who has put its row in vain, again and again
		{`9{37}8`, "10^38-2"},
		// An eviction of an entry that carries its ticket, as of one that does not.
		{`\(\(holders\.#id\.ticket = :t\) AND \(attribute_not_exists \(holders\.#id\.made\)\)\)`,
			"(((attribute_not_exists (holders.#id.ticket)) AND (servingAfter = :t - 1)) AND (attribute_not_exists (holders.#id.made)))"},
	} {
		expression = regexp.MustCompile(r.pattern).ReplaceAllString(expression, r.name)
	}
	return expression
}

func TestShellSnippetsNameWhatExists(t *testing.T) {
	makefile, command := read(t, "Makefile"), sources(t, "cmd/queuelock", ".go")
	tests := sources(t, ".", "_test.go")
	for _, s := range snippets(t) {
		if s.language != "sh" {
			continue
		}
		for _, line := range s.lines {
			line, _, _ = strings.Cut(line, "#")
			words := strings.Fields(line)
			for i, word := range words[:max(0, len(words)-1)] {
				next := words[i+1]
				switch {
				case word == "make" && !strings.Contains(makefile, "\n"+next+":"):
					t.Errorf("%s: the Makefile has no target %q", s.where, next)
				case (word == "queuelock" || word == "bin/queuelock") && !regexp.MustCompile(`Use:\s+"`+regexp.QuoteMeta(next)+`[" ]`).MatchString(command):
					t.Errorf("%s: the command line has no subcommand %q", s.where, next)
				case word == "-run" && !strings.Contains(tests, "func "+strings.Trim(next, "'$")+"("):
					t.Errorf("%s: there is no test %q", s.where, next)
				}
			}
			if !slices.ContainsFunc(words, func(w string) bool { return w == "queuelock" || w == "bin/queuelock" }) {
				continue
			}
			for _, flag := range regexp.MustCompile(`(?:^| )--([a-z][a-z-]*)`).FindAllStringSubmatch(strings.Split(line, " -- ")[0], -1) {
				if !strings.Contains(command, `"`+flag[1]+`"`) {
					t.Errorf("%s: the command line has no flag --%s", s.where, flag[1])
				}
			}
		}
	}
}

func TestLinksAndTestsThatAreNamedExist(t *testing.T) {
	tests := sources(t, ".", "_test.go")
	for _, p := range pages(t) {
		for i, line := range p.lines {
			for _, link := range regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`).FindAllStringSubmatch(line, -1) {
				if strings.Contains(link[1], "://") {
					continue
				}
				if _, err := os.Stat(filepath.Join(filepath.Dir(p.name), link[1])); err != nil {
					t.Errorf("%s:%d: the link leads nowhere: %v", p.name, i+1, err)
				}
			}
			for _, name := range regexp.MustCompile("`((?:Test|Fuzz|Example)[A-Z]\\w+)`").FindAllStringSubmatch(line, -1) {
				if !strings.Contains(tests, "func "+name[1]+"(") {
					t.Errorf("%s:%d: there is no test %s", p.name, i+1, name[1])
				}
			}
		}
	}
}

// TestTheProtocolNamesEveryAttribute: each stands in a row of a table.
func TestTheProtocolNamesEveryAttribute(t *testing.T) {
	text := read(t, "docs/protocol.md")
	attributes := regexp.MustCompile(`\tAttr\w+ += "(\w+)"`).FindAllStringSubmatch(read(t, "internal/table/layout.go"), -1)
	if len(attributes) == 0 {
		t.Fatal("the names of attributes are not where they were")
	}
	for _, a := range attributes {
		if !regexp.MustCompile("(?m)^\\|.*`" + a[1] + "`.*\\|").MatchString(text) {
			t.Errorf("docs/protocol.md does not say what %s is", a[1])
		}
	}
}

// TestExitCodesOfTheREADMEAreThoseOfTheCommand leaves out 1 and 128: the first is
// not an outcome of run, the second is shown as a sum.
func TestExitCodesOfTheREADMEAreThoseOfTheCommand(t *testing.T) {
	text := read(t, "README.md")
	codes := regexp.MustCompile(`\texit\w+ += (\d+)`).FindAllStringSubmatch(read(t, "cmd/queuelock/exit.go"), -1)
	if len(codes) == 0 {
		t.Fatal("the exit codes are not where they were")
	}
	for _, code := range codes {
		if code[1] != "1" && code[1] != "128" && !regexp.MustCompile(`(?m)^\| (\d+, )?`+code[1]+`[ ,]`).MatchString(text) {
			t.Errorf("README.md does not say what exit code %s means", code[1])
		}
	}
}

// TestConfigurationOfTheREADMEIsComplete: each field has a row of its own.
func TestConfigurationOfTheREADMEIsComplete(t *testing.T) {
	text := read(t, "README.md")
	for _, config := range []reflect.Type{reflect.TypeFor[queuelock.Config](), reflect.TypeFor[waitpolicy.Schedule]()} {
		for field := range fields(config) {
			name := field
			if config == reflect.TypeFor[waitpolicy.Schedule]() {
				name = "Poll." + field
			} else if field == "Poll" {
				continue // its fields have rows
			}
			if !strings.Contains(text, "\n| `"+name+"` |") {
				t.Errorf("README.md has no row for %s", name)
			}
		}
	}
}

func fields(of reflect.Type) map[string]bool {
	names := map[string]bool{}
	for i := range of.NumField() {
		if f := of.Field(i); f.IsExported() {
			names[f.Name] = true
		}
	}
	return names
}

// TestPoliciesOfTheREADMEAllowWhatIsCalledAndNoMore compares the IAM actions
// with the methods that the library asks of an SDK client.
func TestPoliciesOfTheREADMEAllowWhatIsCalledAndNoMore(t *testing.T) {
	allowed := map[string][]string{}
	for _, s := range snippets(t) {
		if s.language != "json" {
			continue
		}
		var policy struct {
			Version   string
			Statement []struct {
				Sid      string
				Effect   string
				Action   []string
				Resource string
			}
		}
		if err := json.Unmarshal([]byte(strings.Join(s.lines, "\n")), &policy); err != nil {
			t.Errorf("%s: %v", s.where, err)
		}
		for _, statement := range policy.Statement {
			allowed[statement.Sid] = slices.Sorted(slices.Values(statement.Action))
		}
	}
	called := map[string][]string{
		"UseLocks":    actions(reflect.TypeFor[queuelock.DynamoDB]()),
		"CreateTable": actions(reflect.TypeFor[queuelock.TableAPI]()),
	}
	if !reflect.DeepEqual(allowed, called) {
		t.Errorf("the policies of README.md allow %v, the library calls %v", allowed, called)
	}
}

// actions are the IAM actions of an interface's methods, sorted.
func actions(api reflect.Type) []string {
	var names []string
	for i := range api.NumMethod() {
		names = append(names, "dynamodb:"+api.Method(i).Name)
	}
	return slices.Sorted(slices.Values(names))
}
