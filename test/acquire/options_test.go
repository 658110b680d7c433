package acquire_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// effect is what an option does to others than its caller. RETAKE is of callers of one client that gather: of options that join.
type effect struct {
	option   queuelock.AcquireOption
	others   []queuelock.AcquireOption // of the other callers of the queue
	joins    bool                      // callers of one client that have it wait together, as a block with one row
	named    bool                      // a release may grant the lock to the waiter's row by its name
	passed   bool                      // a release may grant it to another waiter of the same client, in the same write
	entry    []string                  // attributes of the holder's entry that a plain one has not
	row      []string                  // the same of the row
	bytes    int                       // by which the entry is longer
	operator bool                      // a lock with it is not resumed: an operator must evict it
	fresh    bool                      // neither is a place
}

// effects has each option of the library, without those of items alone.
var effects = map[string]effect{
	"OnProgress":  {option: queuelock.OnProgress(func(queuelock.Progress) {}), joins: true, named: true, passed: true},
	"WithTTL":     {option: queuelock.WithTTL(time.Hour), joins: true, named: true, passed: true, bytes: 1},
	"WithOwner":   {option: queuelock.WithOwner("new"), joins: true, named: true, passed: true, bytes: 2}, // who may resume, by the audit
	"WithData":    {option: queuelock.WithData([]byte("data")), passed: true, entry: []string{"data"}, bytes: 8},
	"Shared":      {option: queuelock.Shared(), passed: true, entry: []string{"mode"}, bytes: 10},
	"Permits":     {option: queuelock.Permits(1), others: []queuelock.AcquireOption{queuelock.Permits(1)}, entry: []string{"slot"}, bytes: 6},
	"LockDelay":   {option: queuelock.LockDelay(time.Minute), passed: true, entry: []string{"delay"}, bytes: 9},
	"FailClosed":  {option: queuelock.FailClosed(), operator: true, fresh: true, passed: true, entry: []string{"failClosed"}, bytes: -8},
	"NoHeartbeat": {option: queuelock.NoHeartbeat(), passed: true},
	"KeepPlace":   {option: queuelock.KeepPlace(time.Minute), named: true, passed: true},
	"OnHandle":    {option: queuelock.OnHandle(func(queuelock.Handle) {}), named: true, passed: true},
	"OnExpiring":  {option: queuelock.OnExpiring(time.Second, func(*queuelock.Lock) {}), passed: true},
	"HoldAtLeast": {option: queuelock.HoldAtLeast(time.Hour), passed: true, entry: []string{"atLeast"}, bytes: 12},
	"Every":       {option: queuelock.Every(time.Hour), passed: true, entry: []string{"atLeast"}, bytes: 12},
	"MaxWaiters":  {option: queuelock.MaxWaiters(9), fresh: true, named: true, passed: true, row: []string{"maxWaiters"}},
	"Supersede":   {option: queuelock.Supersede(), entry: []string{"group"}, row: []string{"group"}, bytes: 8},
}

// plainEntry and plainRow are the attributes of a holder's entry and of a row without any option. Those that only a wait, a block, a
// request or a transaction brings are in othersOfEntry.
var (
	plainEntry    = []string{"beat", "owner", "since", "ttl", "until"}
	plainRow      = []string{"beat", "createdAt", "entryId", "id", "mode", "owner", "ttl", "until"}
	othersOfEntry = map[string]string{
		"ticket": "of a grant to a row", "turns": "of a block", "reached": "of a block", "named": "of a grant by name", "dataSet": "SetData",
		"made": "Transact", "bell": "Config.Wake", "closed": "a release under HoldAtLeast", "revoked": "Operator.Revoke", "call": "a late request", "kept": "KeepPlace, after the wait",
	}
)

// TestOptions compares the effects of each option with what the table shows, for a grant of each kind.
func TestOptions(t *testing.T) {
	for _, name := range optionsOfTheFacade(t) {
		if _, known := effects[name]; !known {
			t.Errorf("the option %s has no row in effects: what does it do to a block, a grant by name, a pass, a resumed lock, the size of the record?", name)
		}
	}
	_, sentence, _ := strings.Cut(string(locktest.Must(os.ReadFile("../../docs/configuration.md"))), "any option but ")
	sentence, _, _ = strings.Cut(sentence, "and an `OnExpiring`")
	said := map[string]bool{}
	for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(sentence, -1) {
		said[name[1]] = true
	}
	plain := entryOf(t, effects["OnProgress"], "TAKE")
	for name, e := range effects {
		t.Run(name, func(t *testing.T) {
			if got := blockOf(t, e); got != e.joins || said[name] != e.joins {
				t.Errorf("callers wait together: %t; docs/configuration.md, \"Blocks\", says: %t", got, said[name])
			}
			row, _ := waits(t, e, false)
			if _, named := row["entryId"]; named != e.named {
				t.Errorf("the row may be named: %t", named)
			}
			passed := false
			for range 3 { // one that is looking at that moment is not offered the lock
				if !passed {
					_, passed = waits(t, e, true)
				}
			}
			if passed != e.passed {
				t.Errorf("a release passes the lock on in its write: %t", passed)
			}
			rows := map[string]map[string]types.AttributeValue{"new": row}
			if !e.fresh {
				rows["resumed"] = resumedRow(t, e)
			}
			for which, row := range rows {
				more := slices.DeleteFunc(slices.Sorted(maps.Keys(row)), func(a string) bool {
					return slices.Contains(plainRow, a) || a == "pk" || a == "sk" || a == "expiresAt"
				})
				if row == nil || !slices.Equal(more, e.row) && len(more)+len(e.row) > 0 {
					t.Errorf("its %s row has %v as well, want %v", which, more, e.row)
				}
			}
			var taken map[string]types.AttributeValue
			for _, how := range []string{"TAKE", "ENTER", "another client", "its own client", "RETAKE", "by name", "Resume"} {
				if how == "Resume" && e.operator || how == "by name" && !e.named || how == "RETAKE" && !e.joins {
					continue
				}
				entry := entryOf(t, e, how)
				more := slices.DeleteFunc(slices.Sorted(maps.Keys(entry)), func(a string) bool {
					_, other := othersOfEntry[a]
					return slices.Contains(plainEntry, a) || other
				})
				if !slices.Equal(more, e.entry) && len(more)+len(e.entry) > 0 {
					t.Errorf("granted by %s its entry has %v as well, want %v", how, more, e.entry)
				}
				if how == "TAKE" {
					taken = entry
				}
				for _, a := range append([]string{"owner"}, e.entry...) {
					if how != "Resume" && !reflect.DeepEqual(entry[a], taken[a]) { // which has options of its own
						t.Errorf("granted by %s its entry has %q: %v, want %v", how, a, entry[a], taken[a])
					}
				}
				if _, named := entry["named"]; how == "by name" && !named {
					t.Error("the lock was not granted by name")
				}
				if how == "TAKE" && size(entry)-size(plain) != e.bytes {
					t.Errorf("its entry has %d bytes more, want %d", size(entry)-size(plain), e.bytes)
				}
			}
		})
	}
}

// TestAttributesOfEntries checks that each attribute of an entry or a row is of an option, or is known to be of something else.
func TestAttributesOfEntries(t *testing.T) {
	known := slices.Concat(plainEntry, plainRow, slices.Collect(maps.Keys(othersOfEntry)), attr.Record(),
		[]string{"id", "at", "by", "why", "deadline", "value"}) // of made, revoked and result
	for _, e := range effects {
		known = slices.Concat(known, e.entry, e.row)
	}
	for _, name := range attr.Reserved() {
		if !slices.Contains(known, name) {
			t.Errorf("the attribute %q is in no row of effects: which option brings it, or what else?", name)
		}
	}
}

// optionsOfTheFacade returns the functions that return an option for Acquire.
func optionsOfTheFacade(t *testing.T) (names []string) {
	files := locktest.Must(filepath.Glob("../../*.go"))
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed := locktest.Must(parser.ParseFile(token.NewFileSet(), file, nil, 0))
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Results == nil || len(f.Type.Results.List) != 1 {
				continue
			}
			result, ok := f.Type.Results.List[0].Type.(*ast.Ident)
			if ok && (result.Name == "Option" || result.Name == "AcquireOption") && f.Name.Name != "CreateItem" {
				names = append(names, f.Name.Name)
			}
		}
	}
	if len(names) < 15 {
		t.Fatalf("the facade has the options %v", names)
	}
	return names
}

// blockOf reports whether callers of one client with the option wait in one row.
func blockOf(t *testing.T, e effect) (joins bool) {
	withSlowTable(t, func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.OpenMet(t, table, "holder", queuelock.Config{})
		c, _ := locktest.OpenMet(t, table, "c", queuelock.Config{Block: 64})
		locktest.Acquire(t, holder, waitpolicy.NoWait, e.others...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all []<-chan locktest.Outcome
		for range 4 {
			all = append(all, locktest.QueueUp(ctx, c, waitpolicy.Forever, e.option))
			time.Sleep(time.Microsecond)
		}
		time.Sleep(time.Second)
		for _, w := range locktest.Must(holder.Viewer().Inspect(t.Context(), locktest.Order)).Waiting {
			joins = joins || w.Turns > 1
		}
		cancel()
		for _, one := range all {
			<-one
		}
	})
	return joins
}

// waits returns the row of a waiter with the option, and whether the release before grants it the lock in the same write.
func waits(t *testing.T, e effect, own bool) (row map[string]types.AttributeValue, passed bool) {
	withSlowTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.OpenMet(t, table, "c", queuelock.Config{})
		holder := c
		if !own {
			holder, _ = locktest.OpenMet(t, table, "holder", queuelock.Config{})
		}
		wait := waitpolicy.NoWait
		if e.joins { // a lock is passed between callers that may wait together, or between others
			wait = waitpolicy.Forever
		}
		held := locktest.Acquire(t, holder, wait, e.others...)
		next := locktest.Waiting(t, c, e.option)
		row = rowOf(table)
		before := table.Counts()["UpdateItem"].Applied
		locktest.Release(t, held)
		released := table.Counts()["UpdateItem"].Applied - before
		entries := locktest.Entries(table)
		passed = released == 1 && len(entries) == 1
		got := locktest.Within(t, "the waiter", time.Minute, next)
		locktest.OK(t, got.Err)
		locktest.Release(t, got.Lock)
	})
	return row, passed
}

// resumedRow returns the row of a place that was kept, in which a process waits that has resumed it with the option.
func resumedRow(t *testing.T, e effect) (row map[string]types.AttributeValue) {
	locktest.WithWatched(t, func(t *testing.T, table *queuelocktest.Table) {
		holder, c, later := locktest.Three(t, table, queuelock.Config{}, "holder", "c", "new")
		held := locktest.Acquire(t, holder, waitpolicy.NoWait, e.others...)
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(time.Second), e.option, queuelock.KeepPlace(time.Minute))
		place, ok := errors.AsType[*queuelock.NotAcquiredError](err)
		if !ok || place.Handle == nil {
			t.Fatal(err)
		}
		resumed := locktest.Background(func() (*queuelock.Lock, error) {
			return later.Resume(t.Context(), *place.Handle, waitpolicy.Forever, e.option)
		})
		time.Sleep(time.Second)
		row = rowOf(table)
		locktest.Release(t, held)
		locktest.Release(t, locktest.Within(t, "the resumed place", time.Minute, resumed).Lock)
	})
	return row
}

func rowOf(table *queuelocktest.Table) (row map[string]types.AttributeValue) {
	for _, item := range table.Items() {
		if _, isRow := item["createdAt"]; isRow {
			row = item
		}
	}
	return row
}

// entryOf returns the entry of a holder with the option, whose lock was granted in that way.
func entryOf(t *testing.T, e effect, how string) (entry map[string]types.AttributeValue) {
	locktest.WithWatched(t, func(t *testing.T, table *queuelocktest.Table) {
		c, network := locktest.OpenMet(t, table, "c", queuelock.Config{})
		var lock *queuelock.Lock
		switch how {
		case "TAKE", "Resume":
			lock = locktest.Acquire(t, c, waitpolicy.Forever, e.option)
		case "ENTER":
			c, _ = locktest.OpenMet(t, table, "c", locktest.SharedScope)
			lock = locktest.Acquire(t, c, waitpolicy.Forever, e.option)
		case "RETAKE": // of a caller that comes as the lock is released
			c, _ = locktest.OpenMet(t, table, "c", queuelock.Config{Block: 64})
			first := locktest.Acquire(t, c, waitpolicy.Forever, e.option)
			before := table.Counts()["UpdateItem"].Applied
			next := locktest.LockBy(t, c, e.option)
			time.Sleep(time.Microsecond)
			locktest.Release(t, first)
			lock = locktest.Within(t, how, time.Minute, next).Lock
			if sent := table.Counts()["UpdateItem"].Applied - before; sent != 1 {
				t.Errorf("a release takes the next ticket by %d writes", sent)
			}
		case "by name": // by a holder that has waited, and so has read the row
			a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
			first := locktest.Acquire(t, a, waitpolicy.Forever, e.others...)
			second := locktest.LockBy(t, b, e.others...)
			time.Sleep(300 * time.Millisecond)
			next := locktest.LockBy(t, c, e.option)
			time.Sleep(300 * time.Millisecond)
			locktest.Release(t, first)
			locktest.Release(t, locktest.Within(t, "the second", time.Minute, second).Lock)
			entry = locktest.Entries(table)[0]
			locktest.Release(t, locktest.Within(t, how, time.Minute, next).Lock)
			return
		default:
			holder := c
			if how == "another client" {
				holder, _ = locktest.OpenMet(t, table, "holder", queuelock.Config{})
			}
			held := locktest.Acquire(t, holder, waitpolicy.NoWait, e.others...)
			next := locktest.Waiting(t, c, e.option)
			locktest.Release(t, held)
			lock = locktest.Within(t, how, time.Minute, next).Lock
		}
		if how == "Resume" {
			handle := lock.Handle()
			network.Partition()
			later, _ := locktest.OpenMet(t, table, "new", queuelock.Config{})
			lock = locktest.Must(later.Resume(t.Context(), handle, waitpolicy.NoWait))
		}
		entry = locktest.Entries(table)[0]
		locktest.Release(t, lock)
	})
	return entry
}

// size is about what DynamoDB counts of an entry.
func size(entry map[string]types.AttributeValue) (n int) {
	for name, v := range entry {
		n += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		case *types.AttributeValueMemberN:
			n += (len(v.Value)+1)/2 + 1
		case *types.AttributeValueMemberBOOL:
			n++
		}
	}
	return n
}

// TestPolicyBudget checks what the options cost: nothing at an idle lock, and else one look, which comes before the row with a
// limit, and is not saved for the latest, and one write to ask the holder.
func TestPolicyBudget(t *testing.T) {
	latest := []queuelock.AcquireOption{queuelock.Supersede()}
	cancels := []queuelock.AcquireOption{queuelock.Supersede(queuelock.CancelHolder)}
	for name, c := range map[string]struct {
		opts, holder []queuelock.AcquireOption
		more         int
	}{
		"none": {nil, nil, 0}, "MaxWaiters": {[]queuelock.AcquireOption{queuelock.MaxWaiters(3)}, nil, 1}, "Supersede": {latest, latest, 1},
		"CancelHolder": {cancels, latest, 2}, "CancelHolder of another group": {cancels, nil, 1},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{})
			b, db := locktest.OpenMet(t, table, "b", queuelock.Config{})
			idle := locktest.Cost(db, func() { locktest.Release(t, locktest.Acquire(t, b, waitpolicy.Forever, c.opts...)) })
			if idle.Sent != 2 || idle.WriteUnits != 2 || idle.ReadUnits != 0 {
				t.Errorf("an idle cycle costs %+v", idle)
			}
			held := locktest.Acquire(t, a, waitpolicy.Forever, c.holder...)
			joins := locktest.Cost(db, func() {
				locktest.LockBy(t, b, c.opts...)
				time.Sleep(time.Millisecond / 2)
			})
			if joins.Sent != 2+c.more { // TAKE and ENQUEUE; the ticket is the next, so the first look is saved
				t.Errorf("to queue costs %+v, want %d requests", joins, 2+c.more)
			}
			locktest.Release(t, held)
		})
	}
}
