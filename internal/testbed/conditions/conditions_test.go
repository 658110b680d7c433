package conditions

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/writetest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestCases checks that each condition of each write has a case, and each case a condition.
func TestCases(t *testing.T) {
	type pair [2]string
	there, explained := map[pair]bool{}, map[pair]bool{}
	for _, w := range Shapes() {
		for _, condition := range w.Conditions() {
			there[pair{w.Name, condition}] = true
		}
	}
	for _, c := range Cases() {
		p := pair{c.Write, c.Condition}
		if explained[p] || !there[p] {
			t.Errorf("%s has no condition %q, or two cases of it", c.Write, c.Condition)
		}
		explained[p] = true
	}
	for p := range there {
		if !explained[p] {
			t.Errorf("no case needs the condition %q of %s", p[1], p[0])
		}
	}
}

// TestLate checks of each write that is late that its condition alone decides what becomes of it, and that a check fails without it.
func TestLate(t *testing.T) {
	for _, c := range Cases() {
		if c.late == nil {
			continue
		}
		t.Run(c.Write+"/"+c.Condition, func(t *testing.T) {
			w, names := c.late.write, c.late.names()
			without, has := w.Without(c.Condition)
			if !has || w.Name != c.Write {
				t.Fatalf("the write is %s, with the conditions %q", w.Name, w.Conditions())
			}
			_, fate := w.Apply(names, c.late.item)
			after, then := without.Apply(names, c.late.item)
			want := [2]clause.Fate{clause.Refused, clause.Applied}
			if c.Breaks == "wedged" { // in place of all others it lets the write through
				want = [2]clause.Fate{clause.Applied, clause.Refused}
			} else if !broken(t, c.Breaks, w, names, c.late.item, after) {
				t.Errorf("%q does not fail without the condition, which leaves %v", c.Breaks, after)
			}
			if got := [2]clause.Fate{fate, then}; got != want {
				t.Errorf("its fates with and without the condition are %v, want %v", got, want)
			}
		})
	}
}

// broken reports whether a change of a record, of a counter or of a row fails a check.
func broken(t *testing.T, check string, w clause.Write, n clause.Names, before, after clause.Item) bool {
	decode := func(item clause.Item) (rec queue.Record) {
		q := queue.Items{PK: n.Key, SK: "sk", TTL: n.Expires, Entity: "e", Reason: "r"}
		if n.Prefix != "" {
			q.Home = &queue.Home{Key: clause.Item{n.Key: nil}, Prefix: n.Prefix}
		}
		rec, err := queue.DecodeRecord(q, item)
		if rec.Problem = err; err != nil && check != "malformed" {
			t.Fatal(err)
		}
		return rec
	}
	latest := func(r queue.Record) time.Time { return slices.MaxFunc(r.Marks.Unsettled, time.Time.Compare) }
	if check == "judged" { // the row of another waiter is deleted
		return after == nil && !strings.HasPrefix((&clause.Reader{Item: before}).Text(attr.ID), "b-")
	}
	was, is := decode(before), decode(after)
	switch check {
	case "malformed":
		return is.Problem != nil
	case "back":
		return is.TicketNumber.Less(was.TicketNumber)
	case "reported": // the turn that is said to have ended was another
		h, _ := was.Mine(is.Marks.Released.ID)
		return h.Ticket != is.Marks.Released.Ticket
	case "fencing":
		return slices.ContainsFunc(is.Holders, func(h queue.Holder) bool {
			_, before := was.Mine(h.ID)
			return !before && !was.Floor().Less(h.Ticket)
		})
	case "lost": // later holders do not learn of a transaction
		return latest(is).Before(latest(was))
	case "bounds":
		return len(is.Marks.Unsettled) > queue.MaxUnsettled
	}
	t.Fatalf("no check is called %q", check)
	return false
}

func TestMain(m *testing.M) { os.Exit(engines.Main(m).Run()) }

// TestEngines sends each write that is late to each engine, with its condition and without it. What becomes of the item must
// be what Apply says: that it is what the write's expressions mean, TestWrites shows of the embedded engine alone.
func TestEngines(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		db, fates := table.Client("conditions"), map[clause.Fate]int{}
		for i, c := range Cases() {
			if c.late == nil {
				continue
			}
			writes := []clause.Write{c.late.write}
			if without, _ := c.late.write.Without(c.Condition); len(without.If) > 0 {
				writes = append(writes, without)
			}
			for j, w := range writes {
				fates[writetest.Compare(t, table, db, fmt.Sprint(i, " ", j), w, c.late.names(), c.late.item)]++
			}
		}
		if fates[clause.Applied] < 8 || fates[clause.Refused] < 8 {
			t.Errorf("these are the fates: %v", fates)
		}
	})
}
