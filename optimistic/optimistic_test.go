package optimistic_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/optimistic"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestRequests checks that each call costs the documented requests.
func TestRequests(t *testing.T) {
	table := queuelocktest.NewTable(t)
	items, _ := open(t, table, "a", optimistic.Config{})
	check := func(what string, f func(), sent int, wcu, rcu float64) {
		t.Helper()
		if spent := locktest.Cost(table, f); spent.Sent != sent || spent.WriteUnits != wcu || spent.ReadUnits != rcu {
			t.Errorf("%s: %+v, want %d requests, %v WCU, %v RCU", what, spent, sent, wcu, rcu)
		}
	}
	var item optimistic.Item
	check("create", func() { item = save(t, items, fresh(1)) }, 1, 1, 0)
	check("load", func() { load(t, items) }, 1, 0, 1)
	stale := item
	check("save", func() { item = save(t, items, item) }, 1, 1, 0)
	check("conflict", func() {
		_, err := items.Save(t.Context(), stale)
		locktest.Is(t, err, optimistic.ErrConflict)
	}, 1, 1, 0)
	check("update", func() {
		locktest.Must(items.Update(t.Context(), order, increment))
	}, 2, 1, 1)
	check("update that meets a conflict, with the load and the save of the other", func() {
		calls := 0
		again := locktest.Must(items.Update(t.Context(), order, func(item optimistic.Item) (optimistic.Item, error) {
			if calls++; calls == 1 {
				save(t, items, load(t, items))
			}
			return increment(item)
		}))
		if calls != 2 || counter(again) != 3 || again.Version() != 5 {
			t.Errorf("%d calls of change, n = %d at version %d, want 2, 3 and 5", calls, counter(again), again.Version())
		}
	}, 4+2, 3, 3)
	check("refused delete", func() { locktest.Is(t, items.Delete(t.Context(), item), optimistic.ErrConflict) }, 1, 1, 0)
	item = load(t, items)
	check("delete", func() { locktest.Check(t, items.Delete(t.Context(), item)) }, 1, 1, 0)
	check("builders", func() {
		_, _, err := items.SaveItem(item)
		locktest.Check(t, err)
	}, 0, 0, 0)
	check("save of a deleted item", func() {
		_, err := items.Save(t.Context(), item)
		locktest.Is(t, err, optimistic.ErrConflict)
	}, 1, 1, 0)
}

func TestConflict(t *testing.T) {
	table := queuelocktest.NewTable(t)
	items, _ := open(t, table, "a", optimistic.Config{})
	old := save(t, items, fresh(1))
	changed := old
	changed.Attributes = fresh(5).Attributes
	changed = save(t, items, changed)

	for what, f := range map[string]func() error{
		"save":   func() error { _, err := items.Save(t.Context(), old); return err },
		"create": func() error { _, err := items.Save(t.Context(), fresh(9)); return err },
		"delete": func() error { return items.Delete(t.Context(), old) },
	} {
		err := f()
		var conflict *optimistic.ConflictError
		if !errors.As(err, &conflict) || !errors.Is(err, optimistic.ErrConflict) || conflict.Current == nil {
			t.Fatalf("%s: %v, want a conflict with the item", what, err)
		}
		if got := *conflict.Current; !reflect.DeepEqual(got, changed) {
			t.Errorf("%s: not the item in the table: %s, want %s", what, locktest.PlainItem(got.Attributes), locktest.PlainItem(changed.Attributes))
		}
		if !strings.Contains(err.Error(), "pk=order-7, sk=header") || !strings.Contains(err.Error(), "has version 2") {
			t.Errorf("%s: %v, want it to name the item and its version", what, err)
		}
	}
	_, err := items.Save(t.Context(), fresh(9))
	conflict, ok := errors.AsType[*optimistic.ConflictError](err)
	if !ok {
		t.Fatal(err)
	}
	again := *conflict.Current // it can be saved like a loaded one
	again.Attributes["n"] = num(6)
	if saved := save(t, items, again); saved.Version() != 3 {
		t.Errorf("version %d, want 3", saved.Version())
	}

	locktest.OK(t, items.Delete(t.Context(), load(t, items)))
	_, err = items.Save(t.Context(), old)
	if conflict, ok = errors.AsType[*optimistic.ConflictError](err); !ok || conflict.Current != nil || !strings.Contains(err.Error(), "not there") {
		t.Errorf("save of what was deleted: %v, want a conflict without an item", err)
	}
	locktest.Is(t, items.Delete(t.Context(), old), optimistic.ErrConflict)
}

func TestRecreatedItem(t *testing.T) {
	table := queuelocktest.NewTable(t)
	items, _ := open(t, table, "a", optimistic.Config{})
	old := save(t, items, fresh(1))
	locktest.OK(t, items.Delete(t.Context(), old))
	remade := save(t, items, fresh(1))
	if remade.Version() != old.Version() || remade.Tag() == old.Tag() {
		t.Fatalf("tags %q and %q: want the same version, and another tag", old.Tag(), remade.Tag())
	}
	if _, err := items.Save(t.Context(), old); !errors.Is(err, optimistic.ErrConflict) {
		t.Errorf("save of what was loaded before: %v, want a conflict", err)
	}
	locktest.Is(t, items.Delete(t.Context(), old), optimistic.ErrConflict)
	check := locktest.Must(items.CheckItem(old))
	_, err := table.Client("b").TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{check}})
	locktest.Is(t, items.Outcome(err, 0, old), optimistic.ErrConflict)
}

func TestMissingItem(t *testing.T) {
	table := queuelocktest.NewTable(t)
	items, _ := open(t, table, "a", optimistic.Config{})
	if _, err := items.Load(t.Context(), order); !errors.Is(err, optimistic.ErrNotFound) || !strings.Contains(err.Error(), "order-7") {
		t.Errorf("load: %v, want ErrNotFound", err)
	}
	called := false
	if _, err := items.Update(t.Context(), order, func(i optimistic.Item) (optimistic.Item, error) { called = true; return i, nil }); !errors.Is(err, optimistic.ErrNotFound) || called {
		t.Errorf("update: %v, called: %v", err, called)
	}
	created, err := items.Update(t.Context(), order, func(i optimistic.Item) (optimistic.Item, error) {
		if i.Exists() || i.Version() != 0 || i.Tag() != "" || len(i.Attributes) != 2 {
			t.Errorf("started from %+v, want the key alone", i)
		}
		return increment(i)
	}, optimistic.OrCreate())
	if err != nil || created.Version() != 1 || !created.Exists() || counter(created) != 1 {
		t.Errorf("created %+v: %v", created, err)
	}
	if got := load(t, items); got.Tag() != created.Tag() {
		t.Errorf("tag %q, want %q", got.Tag(), created.Tag())
	}
}

func TestItemsWithoutVersion(t *testing.T) {
	for name, extra := range map[string]attributes{
		"no version": {}, "no tokens": {"version": num(6)},
	} {
		t.Run(name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			items, _ := open(t, table, "a", optimistic.Config{})
			item := av.With(fresh(1).Attributes, extra)
			write(t, table, item)
			first, second := load(t, items), load(t, items)
			if !first.Exists() || first.Version() != second.Version() {
				t.Fatalf("loaded %+v", first)
			}
			saved := save(t, items, first)
			if saved.Version() != first.Version()+1 {
				t.Errorf("version %d after %d", saved.Version(), first.Version())
			}
			if _, err := items.Save(t.Context(), second); !errors.Is(err, optimistic.ErrConflict) {
				t.Errorf("the second save: %v, want a conflict", err)
			}
			locktest.Is(t, items.Delete(t.Context(), second), optimistic.ErrConflict)
			locktest.Check(t, items.Delete(t.Context(), saved))
			if _, err := items.Save(t.Context(), first); !errors.Is(err, optimistic.ErrConflict) {
				t.Errorf("save of what was deleted: %v, want a conflict", err)
			}
		})
	}
}

func TestMalformedVersion(t *testing.T) {
	valid := str("abc")
	for name, extra := range map[string]attributes{
		"text":             {"version": str("3"), "versionTokens": valid},
		"a fraction":       {"version": &types.AttributeValueMemberN{Value: "1.5"}},
		"zero":             {"version": num(0)},
		"too high":         {"version": &types.AttributeValueMemberN{Value: "9223372036854775807"}},
		"tokens alone":     {"versionTokens": valid},
		"tokens of a kind": {"version": num(3), "versionTokens": num(7)},
		"no tokens":        {"version": num(3), "versionTokens": str("")},
		"tokens and tabs":  {"version": num(3), "versionTokens": str("a\tb")},
		"many tokens":      {"version": num(3), "versionTokens": str(strings.Repeat("a ", 16) + "b")},
	} {
		t.Run(name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			items, _ := open(t, table, "a", optimistic.Config{})
			item := av.With(order, extra)
			old := save(t, items, fresh(1))
			write(t, table, item)
			_, loadErr := items.Load(t.Context(), order)
			_, updateErr := items.Update(t.Context(), order, increment, optimistic.OrCreate())
			_, saveErr := items.Save(t.Context(), old)
			_, createErr := items.Save(t.Context(), fresh(1))
			for what, err := range map[string]error{"load": loadErr, "update": updateErr, "save": saveErr, "create": createErr, "delete": items.Delete(t.Context(), old)} {
				var malformed *optimistic.MalformedError
				if !errors.As(err, &malformed) || malformed.Key != "pk=order-7, sk=header" || !strings.HasPrefix(malformed.Attribute, "version") {
					t.Errorf("%s: %v, want a *MalformedError that names the attribute", what, err)
				}
				if err != nil && strings.Contains(err.Error(), "%!") {
					t.Errorf("%s: %v", what, err)
				}
			}
			if got := table.Items(); !reflect.DeepEqual(got, []attributes{item}) {
				t.Errorf("the item was changed to %v", got)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	table := queuelocktest.NewTable(t)
	db := table.Client("a")
	var none *dynamodb.Client
	long := strings.Repeat("x", 256)
	for want, f := range map[string]func() (*optimistic.Table, error){
		"client is nil":          func() (*optimistic.Table, error) { return optimistic.New(nil, "t", "pk", optimistic.Config{}) },
		"DynamoDB client is nil": func() (*optimistic.Table, error) { return optimistic.New(none, "t", "pk", optimistic.Config{}) },
		"table name is empty":    func() (*optimistic.Table, error) { return optimistic.New(db, "", "pk", optimistic.Config{}) },
		"partition key is empty": func() (*optimistic.Table, error) { return optimistic.New(db, "t", "", optimistic.Config{}) },
		"has 256 bytes":          func() (*optimistic.Table, error) { return optimistic.New(db, "t", long, optimistic.Config{}) },
		`both named "pk"`: func() (*optimistic.Table, error) {
			return optimistic.New(db, "t", "pk", optimistic.Config{SortKey: "pk"})
		},
		`both named "version"`: func() (*optimistic.Table, error) { return optimistic.New(db, "t", "version", optimistic.Config{}) },
		"Attempts is -1": func() (*optimistic.Table, error) {
			return optimistic.New(db, "t", "pk", optimistic.Config{Attempts: -1})
		},
		"Tries is -1": func() (*optimistic.Table, error) { return optimistic.New(db, "t", "pk", optimistic.Config{Tries: -1}) },
		"RequestTimeout is 1µs": func() (*optimistic.Table, error) {
			return optimistic.New(db, "t", "pk", optimistic.Config{RequestTimeout: time.Microsecond})
		},
		`attribute are both named "v"`: func() (*optimistic.Table, error) {
			return optimistic.New(db, "t", "pk", optimistic.Config{VersionAttribute: "v", TokenAttribute: "v"})
		},
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v, want %q", err, want)
		}
	}

	items := locktest.Must(optimistic.New(db, table.Name(), "pk", optimistic.Config{SortKey: "sk"}))
	var nilString *types.AttributeValueMemberS
	ctx := t.Context()
	saving := func(item optimistic.Item, opts ...optimistic.Option) func() error {
		return func() error { _, err := items.Save(ctx, item, opts...); return err }
	}
	whole := save(t, items, fresh(1))
	moved := whole
	moved.Attributes = attributes{"pk": str("order-8"), "sk": order["sk"]}
	before := table.Counts()
	for want, f := range map[string]func() error{
		`key attribute "sk" is missing`:         func() error { _, err := items.Load(ctx, attributes{"pk": str("a")}); return err },
		`key attribute "pk" is an S`:            func() error { _, err := items.Load(ctx, attributes{"pk": str(""), "sk": str("b")}); return err },
		`key attribute "sk" is an S`:            func() error { _, err := items.Load(ctx, attributes{"pk": str("a"), "sk": nilString}); return err },
		`is an BOOL`:                            saving(optimistic.Item{Attributes: attributes{"pk": &types.AttributeValueMemberBOOL{}, "sk": str("b")}}),
		`key attribute "pk" is missing`:         saving(optimistic.Item{}),
		`attribute "version" is the version's`:  saving(optimistic.Item{Attributes: attributes{"pk": str("a"), "sk": str("b"), "version": num(1)}}),
		`attribute "versionTokens" is the`:      saving(optimistic.Item{Attributes: attributes{"pk": str("a"), "sk": str("b"), "versionTokens": str("")}}),
		`was loaded as pk=order-7, sk=header`:   saving(moved),
		`token ""`:                              saving(fresh(1), optimistic.WithToken("")),
		`token "a b"`:                           saving(fresh(1), optimistic.WithToken("a b")),
		`1 to 40 printable ASCII characters`:    saving(fresh(1), optimistic.WithToken(strings.Repeat("x", 41))),
		`token "ü"`:                             saving(fresh(1), optimistic.WithToken("ü")),
		`was not loaded`:                        func() error { return items.Delete(ctx, fresh(1)) },
		`header was not loaded`:                 func() error { _, err := items.DeleteItem(fresh(1)); return err },
		`save: key attribute "pk" is missing`:   func() error { _, _, err := items.SaveItem(optimistic.Item{}); return err },
		`check: key attribute "pk" is missing`:  func() error { _, err := items.CheckItem(optimistic.Item{}); return err },
		`delete: key attribute "pk" is missing`: func() error { return items.Delete(ctx, optimistic.Item{}) },
		`the function is nil`:                   func() error { _, err := items.Update(ctx, order, nil); return err },
		`update: token "a b"`:                   func() error { _, err := items.Update(ctx, order, increment, optimistic.WithToken("a b")); return err },
		`load: key attribute "pk" is missing`:   func() error { _, err := items.Update(ctx, nil, increment); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "optimistic: ") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if spent := table.Counts().Sub(before).Total(); spent.Sent != 0 {
		t.Errorf("%+v, want no request", spent)
	}
}

func TestErrorOfChange(t *testing.T) {
	table := queuelocktest.NewTable(t)
	items, db := open(t, table, "a", optimistic.Config{})
	save(t, items, fresh(1))
	mine := errors.New("not enough money")
	before := db.Counts()
	_, err := items.Update(t.Context(), order, func(i optimistic.Item) (optimistic.Item, error) {
		i.Attributes["n"] = num(100)
		return i, mine
	})
	if !errors.Is(err, mine) || db.Counts().Sub(before)["PutItem"].Sent != 0 {
		t.Errorf("%v, want the change's own error, and no write", err)
	}
	// What change returns counts for its attributes alone: a version it lost is
	// put back, and a key it changed is found out.
	if got, err := items.Update(t.Context(), order, func(optimistic.Item) (optimistic.Item, error) { return fresh(8), nil }); err != nil || got.Version() != 2 || counter(got) != 8 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := items.Update(t.Context(), order, func(optimistic.Item) (optimistic.Item, error) {
		return optimistic.Item{Attributes: attributes{"pk": str("x"), "sk": str("y")}}, nil
	}); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
		t.Errorf("%v, want that a key cannot be changed", err)
	}
}

func TestSavedItemIsCopied(t *testing.T) {
	table := queuelocktest.NewTable(t)
	items, _ := open(t, table, "a", optimistic.Config{})
	mine := fresh(1)
	saved := save(t, items, mine)
	mine.Attributes["n"] = num(2)
	if counter(saved) != 1 {
		t.Error("a change of what was passed in shows in what was returned")
	}
	if len(mine.Attributes) != 3 {
		t.Errorf("what was passed in was written into: %v", mine.Attributes)
	}
}

// TestDeadline checks that a deadline of the caller is distinguished from the timeout of a request.
func TestDeadline(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	table := queuelocktest.NewTable(t)
	items, _ := open(t, table, "a", optimistic.Config{})
	if _, err := items.Save(ctx, fresh(1)); !errors.Is(err, context.Canceled) || errors.Is(err, optimistic.ErrUnknown) {
		t.Errorf("save with a context that has ended: %v, want its error, and that nothing was written", err)
	}
	if _, err := items.Update(ctx, order, increment); !errors.Is(err, context.Canceled) {
		t.Errorf("update with a context that has ended: %v", err)
	}
}

// TestWrongTable checks that the error for a missing table, and for one with another key, names the table, what it has
// and what the caller has named.
func TestWrongTable(t *testing.T) {
	lock := queuelocktest.NewTable(t) // with keys "pk" and "sk"
	for name, c := range map[string]struct {
		table string
		key   attributes
		says  []string
	}{
		"missing":     {"orders", attributes{"id": str("x")}, []string{`"orders"`, "no such table in this account, region and endpoint", `the key "id" (S)`, "create it"}},
		"other names": {lock.Name(), attributes{"id": str("x")}, []string{`partition key "pk" (S) and sort key "sk" (S)`, `the key "id" (S)`}},
		"other types": {lock.Name(), attributes{"pk": num(1), "sk": str("x")}, []string{`partition key "pk" (S) and sort key "sk" (S)`, `"pk" (N)`}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, partition := optimistic.Config{}, "id"
			if len(c.key) == 2 {
				partition, cfg.SortKey = "pk", "sk"
			}
			items := locktest.Must(optimistic.New(lock.Client("a"), c.table, partition, cfg))
			_, loadErr := items.Load(t.Context(), c.key)
			_, saveErr := items.Save(t.Context(), optimistic.Item{Attributes: c.key})
			_, updateErr := items.Update(t.Context(), c.key, increment, optimistic.OrCreate())
			for _, err := range []error{loadErr, saveErr, updateErr} {
				if _, ok := errors.AsType[*queue.TableError](err); !ok || errors.Is(err, optimistic.ErrUnknown) {
					t.Errorf("%v is no TableError, or of an unknown outcome", err)
				}
				for _, part := range c.says {
					if !strings.Contains(fmt.Sprint(err), part) {
						t.Errorf("%v, want %q", err, part)
					}
				}
				if n := len(fmt.Sprint(err)); n > 200 {
					t.Errorf("%d letters: %v", n, err)
				}
			}
		})
	}
}

func TestNilOptions(t *testing.T) {
	items, _ := open(t, queuelocktest.NewTable(t), "a", optimistic.Config{})
	locktest.Must(items.Save(t.Context(), fresh(1), nil, optimistic.WithToken("one"), nil))
	if item, err := items.Update(t.Context(), order, increment, nil); err != nil || !item.Wrote("one") || counter(item) != 2 {
		t.Errorf("%+v: %v", item, err)
	}
	if _, _, err := items.SaveItem(load(t, items), nil); err != nil {
		t.Error(err)
	}
}
