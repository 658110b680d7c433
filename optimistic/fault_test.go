package optimistic_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/optimistic"
	"github.com/queuelock/queuelock/queuelocktest"
)

// inBubble runs f in time of its own.
func inBubble(t *testing.T, f func(t *testing.T, table *queuelocktest.Table)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t, queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond)))
	})
}

// bubble is inBubble in a subtest.
func bubble(t *testing.T, name string, f func(t *testing.T, table *queuelocktest.Table)) {
	t.Run(name, func(t *testing.T) { inBubble(t, f) })
}

// interrupted makes a call whose first request, or its answer, is lost, and lets others write before the second.
func interrupted(db *queuelocktest.Client, fault queuelocktest.Fault, operation string, call func() (optimistic.Item, error), meanwhile func()) (optimistic.Item, error) {
	db.Inject(fault.Of(operation).Times(1))
	gate := db.Inject(queuelocktest.HoldRequest().Of(operation).Times(1))
	done := locktest.Background(call)
	<-gate.Reached()
	meanwhile()
	gate.Release()
	got := <-done
	return got.Lock, got.Err
}

// saving and deleting are calls of an item.
func saving(t *testing.T, items *optimistic.Table, item optimistic.Item) func() (optimistic.Item, error) {
	return func() (optimistic.Item, error) { return items.Save(t.Context(), item) }
}

func deleting(t *testing.T, items *optimistic.Table, item optimistic.Item) func() (optimistic.Item, error) {
	return func() (optimistic.Item, error) { return item, items.Delete(t.Context(), item) }
}

// TestLostAnswer checks that a write whose answer was lost is found although others have
// written since, and that one that was never made is a conflict.
func TestLostAnswer(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  queuelocktest.Fault
		others int
		want   error
	}{
		{"made, 1 later write", queuelocktest.LoseResponse(), 1, nil},
		{"made, 15 later writes", queuelocktest.LoseResponse(), 15, nil},
		{"made, 16 later writes", queuelocktest.LoseResponse(), 16, optimistic.ErrUnknown},
		{"not made, 1 later write", queuelocktest.LoseRequest(), 1, optimistic.ErrConflict},
		{"not made, 15 later writes", queuelocktest.LoseRequest(), 15, optimistic.ErrConflict},
		{"not made, 16 later writes", queuelocktest.LoseRequest(), 16, optimistic.ErrUnknown},
	} {
		for _, written := range []int{0, 1, 40} {
			bubble(t, fmt.Sprintf("%s, of an item written %d times", c.name, written), func(t *testing.T, table *queuelocktest.Table) {
				items, db := open(t, table, "a", optimistic.Config{})
				other, _ := open(t, table, "b", optimistic.Config{})
				item := fresh(0)
				for range written {
					item = save(t, items, item)
				}
				item.Attributes["n"] = num(1)
				got, err := interrupted(db, c.fault, "PutItem", saving(t, items, item), func() {
					for range c.others {
						locktest.Must(other.Update(t.Context(), order, increment, optimistic.OrCreate()))
					}
				})
				want := c.want
				if written == 0 && want != nil {
					want = optimistic.ErrUnknown // it may have been created, deleted, and created by another
				}
				if !errors.Is(err, want) {
					t.Fatalf("%v, want %v", err, want)
				}
				if want == nil && (counter(got) != 1+c.others || got.Tag() != load(t, items).Tag()) {
					t.Errorf("%+v, want the item as it is now", got)
				}
			})
		}
	}
}

// TestLostAnswerAfterDelete checks that the outcome of a save is unknown if its answer was lost and the item was deleted
// meanwhile. A delete has done what it should if nothing is there.
func TestLostAnswerAfterDelete(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{"made": queuelocktest.LoseResponse(), "not made": queuelocktest.LoseRequest()} {
		for _, remade := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%s, made again: %v", name, remade), func(t *testing.T, table *queuelocktest.Table) {
				items, db := open(t, table, "a", optimistic.Config{})
				other, _ := open(t, table, "b", optimistic.Config{})
				_, err := interrupted(db, fault, "PutItem", saving(t, items, save(t, items, fresh(1))), func() {
					locktest.Check(t, other.Delete(t.Context(), load(t, other)))
					if remade {
						save(t, other, save(t, other, save(t, other, fresh(5))))
					}
				})
				if !errors.Is(err, optimistic.ErrUnknown) || errors.Is(err, optimistic.ErrConflict) {
					t.Errorf("save: %v, want ErrUnknown", err)
				}
			})
		}
	}
	for then, c := range map[string]struct {
		fault queuelocktest.Fault
		again func(t *testing.T, other *optimistic.Table)
		want  error
	}{
		"gone":       {queuelocktest.LoseResponse(), func(*testing.T, *optimistic.Table) {}, nil},
		"made again": {queuelocktest.LoseResponse(), func(t *testing.T, other *optimistic.Table) { save(t, other, fresh(2)) }, optimistic.ErrUnknown},
		"changed":    {queuelocktest.LoseRequest(), func(t *testing.T, other *optimistic.Table) { save(t, other, load(t, other)) }, optimistic.ErrConflict},
	} {
		bubble(t, then, func(t *testing.T, table *queuelocktest.Table) {
			items, db := open(t, table, "a", optimistic.Config{})
			other, _ := open(t, table, "b", optimistic.Config{})
			_, err := interrupted(db, c.fault, "DeleteItem", deleting(t, items, save(t, items, fresh(1))), func() { c.again(t, other) })
			locktest.Is(t, err, c.want)
		})
	}
}

// TestLostAnswerOfAnotherItem checks that the outcome is unknown if the item was deleted and made again. Another item can
// have the token of the last write to the one that was loaded: a create of an Update can come late, and an Update can be
// repeated with its token. Of an item without tokens nothing shows that.
func TestLostAnswerOfAnotherItem(t *testing.T) {
	update := optimistic.WithToken("update")
	plain := func(version int) func(*testing.T, *queuelocktest.Table, *optimistic.Table) optimistic.Item {
		return func(t *testing.T, table *queuelocktest.Table, items *optimistic.Table) optimistic.Item {
			item := attributes{"pk": order["pk"], "sk": order["sk"], "n": num(1)}
			if version > 0 {
				item["version"] = num(version)
			}
			write(t, table, item)
			return load(t, items)
		}
	}
	third := func(t *testing.T, _ *queuelocktest.Table, items *optimistic.Table) optimistic.Item {
		return save(t, items, save(t, items, save(t, items, fresh(1))), update)
	}
	made := func(writes int, opts ...optimistic.Option) func(*testing.T, *queuelocktest.Table, *optimistic.Table) {
		return func(t *testing.T, table *queuelocktest.Table, other *optimistic.Table) {
			again := fresh(5)
			for i := range writes {
				if i == writes-1 {
					again = save(t, other, again, opts...)
				} else {
					again = save(t, other, again)
				}
			}
		}
	}
	for name, c := range map[string]struct {
		loaded  func(*testing.T, *queuelocktest.Table, *optimistic.Table) optimistic.Item
		again   func(*testing.T, *queuelocktest.Table, *optimistic.Table) // after a deletion
		creates bool
	}{
		"LateCreate":      {loaded: third, again: made(1, update)},
		"RepeatedUpdate":  {loaded: third, again: made(3, update)},
		"OthersAlone":     {loaded: third, again: made(4)},
		"WithoutAVersion": {loaded: plain(0), again: made(1)},
		"WithoutTokens":   {loaded: plain(6), again: made(22)},
		"OfACreate": {again: made(1), creates: true,
			loaded: func(*testing.T, *queuelocktest.Table, *optimistic.Table) optimistic.Item { return fresh(1) }},
	} {
		for _, operation := range []string{"PutItem", "DeleteItem"} {
			for _, later := range []int{0, 1, 5} { // writes to the item that was made again
				if c.creates && operation == "DeleteItem" {
					continue
				}
				bubble(t, fmt.Sprint(name, "/", operation, "/", later), func(t *testing.T, table *queuelocktest.Table) {
					items, db := open(t, table, "a", optimistic.Config{})
					other, _ := open(t, table, "b", optimistic.Config{})
					item := c.loaded(t, table, items)
					call := saving(t, items, item)
					if operation == "DeleteItem" {
						call = deleting(t, items, item)
					}
					_, err := interrupted(db, queuelocktest.LoseResponse(), operation, call, func() {
						if operation == "PutItem" {
							locktest.Check(t, other.Delete(t.Context(), load(t, other)))
						}
						c.again(t, table, other)
						for range later {
							save(t, other, load(t, other))
						}
					})
					if !errors.Is(err, optimistic.ErrUnknown) || errors.Is(err, optimistic.ErrConflict) {
						t.Errorf("%v, want ErrUnknown", err)
					}
				})
			}
		}
	}
}

// TestLostAnswerBesideOtherWriters checks that writers which change the version alone leave
// the outcome known, and that those which remove the tokens do not.
func TestLostAnswerBesideOtherWriters(t *testing.T) {
	versioned := func(version int) attributes {
		return attributes{"pk": order["pk"], "sk": order["sk"], "version": num(version)}
	}
	bubble(t, "AddsToTheVersion", func(t *testing.T, table *queuelocktest.Table) {
		items, db := open(t, table, "a", optimistic.Config{})
		_, err := interrupted(db, queuelocktest.LoseRequest(), "PutItem", saving(t, items, save(t, items, fresh(1))), func() {
			locktest.Must(table.Client("other program").UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: new(table.Name()), Key: order, UpdateExpression: new("ADD version :one"),
				ExpressionAttributeValues: attributes{":one": num(1)},
			}))
		})
		locktest.Is(t, err, optimistic.ErrConflict)
	})
	bubble(t, "RemovesTheTokens", func(t *testing.T, table *queuelocktest.Table) {
		items, db := open(t, table, "a", optimistic.Config{})
		write(t, table, versioned(6))
		_, err := interrupted(db, queuelocktest.LoseResponse(), "PutItem", saving(t, items, load(t, items)), func() {
			write(t, table, versioned(8))
		})
		locktest.Is(t, err, optimistic.ErrUnknown)
	})
}

// TestPermanentFaults checks that a permanent fault ends the call with the outcome as far as it is known.
func TestPermanentFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault   queuelocktest.Fault
		unknown bool
		tries   int
	}{
		"denied":       {queuelocktest.Refuse(queuelocktest.AccessDenied), false, 1},
		"throttled":    {queuelocktest.Refuse(queuelocktest.Throttling), false, 5},
		"no answer":    {queuelocktest.SwallowRequest(), true, 5},
		"lost answers": {queuelocktest.SwallowResponse(), true, 5},
		"broken":       {queuelocktest.LoseRequest(), true, 5},
		"faults":       {queuelocktest.Refuse(queuelocktest.InternalError), true, 5},
	} {
		bubble(t, name, func(t *testing.T, table *queuelocktest.Table) {
			items, db := open(t, table, "a", optimistic.Config{})
			item := save(t, items, fresh(1))
			injected := db.Inject(c.fault)
			for what, f := range map[string]func() error{
				"save":   func() error { _, err := items.Save(t.Context(), item); return err },
				"delete": func() error { return items.Delete(t.Context(), item) },
				"load":   func() error { _, err := items.Load(t.Context(), order); return err },
			} {
				begun, fired := time.Now(), injected.Fired()
				err := f()
				unknown := c.unknown && what != "load"
				if err == nil || errors.Is(err, optimistic.ErrUnknown) != unknown || errors.Is(err, optimistic.ErrConflict) {
					t.Errorf("%s: %v, want that it is unknown: %v", what, err, unknown)
				}
				if errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v matches a deadline that no caller has set", what, err)
				}
				if n := injected.Fired() - fired; n != c.tries {
					t.Errorf("%s: %d tries, want %d", what, n, c.tries)
				}
				if took := time.Since(begun); took > 11*time.Second {
					t.Errorf("%s took %v", what, took)
				}
			}
		})
	}
}

func TestContextDuringWrite(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{"made": queuelocktest.SwallowResponse(), "not made": queuelocktest.SwallowRequest()} {
		bubble(t, name, func(t *testing.T, table *queuelocktest.Table) {
			items, db := open(t, table, "a", optimistic.Config{})
			item := save(t, items, fresh(1))
			db.Inject(fault)
			for what, f := range map[string]func(context.Context) error{
				"save":   func(ctx context.Context) error { _, err := items.Save(ctx, item); return err },
				"delete": func(ctx context.Context) error { return items.Delete(ctx, item) },
			} {
				for _, limit := range []time.Duration{time.Second, 3 * time.Second} { // within the first try, and a later one
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					begun := time.Now()
					if err := f(ctx); !errors.Is(err, optimistic.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != limit {
						t.Errorf("%s: %v after %v, want ErrUnknown and the deadline after %v", what, err, time.Since(begun), limit)
					}
					cancel()
				}
			}
		})
	}
}

func TestContextDuringUpdate(t *testing.T) {
	inBubble(t, func(t *testing.T, table *queuelocktest.Table) {
		items, _ := open(t, table, "a", optimistic.Config{Attempts: 1000})
		other, _ := open(t, table, "b", optimistic.Config{})
		save(t, items, fresh(1))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		rounds, begun := 0, time.Now()
		_, err := items.Update(ctx, order, func(item optimistic.Item) (optimistic.Item, error) {
			rounds++
			save(t, other, load(t, other))
			return increment(item)
		})
		// The other client's requests do not end with ctx.
		if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took < 10*time.Second || took > 10*time.Second+5*time.Millisecond {
			t.Errorf("%v after %v, want the deadline after 10s", err, took)
		}
		// 1.3 s for the first six, and one a second then; half or once and a half as many at the most.
		if rounds < 8 || rounds > 26 {
			t.Errorf("%d rounds in 10s", rounds)
		}
		if n := counter(load(t, items)); n != 1 {
			t.Errorf("n = %d, want that nothing was written", n)
		}
	})
}

func TestUpdateAttempts(t *testing.T) {
	inBubble(t, func(t *testing.T, table *queuelocktest.Table) {
		for _, attempts := range []int{1, 3, 0} {
			items, db := open(t, table, fmt.Sprint("a", attempts), optimistic.Config{Attempts: attempts})
			other, _ := open(t, table, "b", optimistic.Config{})
			locktest.Must(other.Update(t.Context(), order, increment, optimistic.OrCreate()))
			want := attempts
			if want == 0 {
				want = 10
			}
			calls, begun := 0, time.Now()
			_, err := items.Update(t.Context(), order, func(item optimistic.Item) (optimistic.Item, error) {
				calls++
				save(t, other, load(t, other))
				return increment(item)
			})
			var conflict *optimistic.ConflictError
			if !errors.As(err, &conflict) || conflict.Current == nil || calls != want || db.Counts().Total().Sent < 2*want {
				t.Errorf("%v after %d calls, want a conflict after %d", err, calls, want)
			}
			if took := time.Since(begun); took > 7*time.Second || attempts == 0 && took < 2*time.Second {
				t.Errorf("%d attempts took %v", want, took)
			}
		}
	})
}

// TestUpdateWithToken checks that an update with a token is made once: a program that got no answer may repeat it.
func TestUpdateWithToken(t *testing.T) {
	inBubble(t, func(t *testing.T, table *queuelocktest.Table) {
		items, db := open(t, table, "a", optimistic.Config{Tries: 1})
		other, _ := open(t, table, "b", optimistic.Config{})
		save(t, items, fresh(0))
		lost := db.Inject(queuelocktest.LoseResponse().Of("PutItem"))
		if _, err := items.Update(t.Context(), order, increment, optimistic.WithToken("payment-17")); !errors.Is(err, optimistic.ErrUnknown) {
			t.Fatalf("%v, want ErrUnknown", err)
		}
		lost.Remove()
		for i := range 16 { // others write in between
			got, err := items.Update(t.Context(), order, func(item optimistic.Item) (optimistic.Item, error) {
				t.Error("changed once more")
				return increment(item)
			}, optimistic.WithToken("payment-17"))
			if err != nil || !got.Wrote("payment-17") || got.Wrote("payment-18") || counter(got) != 1+i {
				t.Fatalf("%+v, %v after %d other writes", got, err, i)
			}
			locktest.Must(other.Update(t.Context(), order, increment))
		}
		// A save that is repeated as it was.
		item := load(t, items)
		save(t, items, item, optimistic.WithToken("payment-18"))
		if again := save(t, items, item, optimistic.WithToken("payment-18")); again.Version() != item.Version()+1 {
			t.Errorf("version %d after %d: saved twice", again.Version(), item.Version())
		}
		// A save of the item as it is now, which has the write.
		now := load(t, items)
		now.Attributes["n"] = num(99)
		if again := save(t, items, now, optimistic.WithToken("payment-18")); again.Tag() != now.Tag() || counter(again) == 99 {
			t.Errorf("%+v after %+v: written twice", again, now)
		}
		if _, _, err := items.SaveItem(now, optimistic.WithToken("payment-18")); err == nil || !strings.Contains(err.Error(), "payment-18") {
			t.Errorf("a part of a transaction: %v", err)
		}
	})
}

// TestCreateAfterDelete checks that a create that arrives after a delete restores the item, as the package's description
// says.
func TestCreateAfterDelete(t *testing.T) {
	inBubble(t, func(t *testing.T, table *queuelocktest.Table) {
		items, db := open(t, table, "a", optimistic.Config{})
		late := db.Inject(queuelocktest.HoldDuplicate().Of("PutItem").Times(1))
		item := save(t, items, fresh(1))
		locktest.OK(t, items.Delete(t.Context(), item))
		late.Release()
		locktest.OK(t, table.Settle(t.Context()))
		if again := load(t, items); again.Tag() != item.Tag() {
			t.Errorf("%+v, want what was created", again)
		}
	})
}
