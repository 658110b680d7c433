package queuelock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// edit changes the item of the queue with that sort key, as an operator or
// another version does.
func edit(t *testing.T, table *queuelocktest.Table, sk, update string, names map[string]string, values item) {
	t.Helper()
	if _, err := table.Client("editor").UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(table.Name()), Key: item{"pk": str(order.Entity), "sk": str(sk)},
		UpdateExpression: &update, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}); err != nil {
		t.Fatal(err)
	}
}

// record is the queue's record, and holders its entries.
func record(t *testing.T, table *queuelocktest.Table) (record, holders item) {
	t.Helper()
	for _, i := range table.Items() {
		if asText(i["sk"]) == asText(recordKey()["sk"]) {
			record = i
		}
	}
	if m, ok := record["holders"].(*types.AttributeValueMemberM); ok {
		holders = m.Value
	}
	return record, holders
}

// badEntries are entries of a holder that cannot be read.
func badEntries() map[string]types.AttributeValue {
	entry := item{"beat": num(3), "ttl": num(ttl.Milliseconds()), "until": num(1), "owner": str("somebody"), "ticket": num(1)}
	return map[string]types.AttributeValue{
		"no map":               str("somebody"),
		"a beat of text":       object(with(entry, item{"beat": str("3")})),
		"an end of text":       object(with(entry, item{"until": str("soon")})),
		"no length":            object(without(entry, "ttl")),
		"a bad ticket":         object(with(entry, item{"ticket": num(-3)})),
		"a text as failClosed": object(with(entry, item{"failClosed": str("yes")})),
	}
}

func TestBadEntry(t *testing.T) {
	for name, bad := range badEntries() {
		setUp := func(t *testing.T, permits int) (table *queuelocktest.Table, permit queuelock.Option) {
			table = queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			write(t, table, with(recordKey(), item{
				"ticketNumber": num(1), "granted": num(1), "servingAfter": num(0), "permits": num(permits),
				"holders": object(item{"bad": bad}),
			}))
			return table, queuelock.Permits(permits)
		}
		t.Run("CostsOtherHoldersNothing/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table, permit := setUp(t, 3)
				a, _ := open(t, table, "a", tenSeconds)
				b, _ := open(t, table, "b", tenSeconds)
				held := []*queuelock.Lock{acquire(t, a, waitpolicy.NoWait, permit), acquire(t, b, waitpolicy.For(time.Minute), permit)}
				time.Sleep(10 * ttl)
				for _, lock := range held {
					if err := lock.SetData(t.Context(), []byte("x")); err != nil || lock.Err() != nil {
						t.Errorf("%v, %v", err, lock.Err())
					}
				}
				state := must(a.Inspect(t.Context(), order))
				problems := 0
				for _, h := range state.Serving {
					if h.Problem != nil {
						problems++
						says(t, h.Problem, "holders.bad", "serving record")
						if h.Remaining <= 0 || h.FailClosed || h.TTL != 0 {
							t.Errorf("%+v", h)
						}
					}
				}
				if len(state.Serving) != 3 || problems != 1 {
					t.Errorf("%+v, want three holders, one with a problem", state.Serving)
				}
				if !locked(t, b) {
					t.Error("a bad entry is no holder")
				}
				if swept := must(b.Sweep(t.Context(), order)); swept != (queuelock.Swept{}) {
					t.Errorf("swept %+v", swept)
				}
				for _, lock := range held {
					release(t, lock)
				}
				time.Sleep(time.Second)
				if _, holders := record(t, table); len(holders) != 1 || holders["bad"] == nil {
					t.Errorf("left %v, want the bad entry alone", holders)
				}
			})
		})
		t.Run("IsNamedOnceItAloneIsInTheWay/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table, permit := setUp(t, 2)
				a, _ := open(t, table, "a", tenSeconds)
				b, _ := open(t, table, "b", tenSeconds)
				lock := acquire(t, a, waitpolicy.For(time.Minute), permit)
				if _, err := b.Acquire(t.Context(), order, waitpolicy.NoWait, permit); !errors.Is(err, queuelock.ErrNotAcquired) {
					t.Errorf("%v, want that another holder is in the way", err)
				}
				release(t, lock)
				write(t, table, with(recordKey(), item{
					"ticketNumber": num(9), "granted": num(9), "servingAfter": num(0), "permits": num(1), "holders": object(item{"bad": bad}),
				}))
				for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
					_, err := b.Acquire(t.Context(), order, wait, queuelock.Permits(1))
					if _, ok := errors.AsType[*queuelock.MalformedError](err); !ok || errors.Is(err, queuelock.ErrNotAcquired) {
						t.Errorf("%v: %v, want a MalformedError", wait, err)
					}
				}
				if err := b.Evict(t.Context(), order, ticket.FromUint64(1)); err == nil {
					t.Error("an operator's eviction succeeded")
				}
				time.Sleep(time.Minute)
				if _, holders := record(t, table); len(holders) != 1 || len(table.Items()) != 1 {
					t.Errorf("left %v", table.Items())
				}
			})
		})
	}
	// What people read says nothing about the lease.
	t.Run("IsEvictedIfOnlyItsOwnerCannotBeRead", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			dead := item{"beat": num(3), "ttl": num(ttl.Milliseconds()), "until": num(1), "owner": num(7), "since": str("x"), "ticket": num(1)}
			write(t, table, with(recordKey(), item{"ticketNumber": num(1), "granted": num(1), "servingAfter": num(0), "holders": object(item{"dead": object(dead)})}))
			a, _ := open(t, table, "a", tenSeconds)
			release(t, acquire(t, a, waitpolicy.NoWait))
		})
	})
	// The holder's own write was applied; the rest of the record is for others.
	t.Run("OfItsOwnEndsALockThatCannotBeRenewed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			a, _ := open(t, table, "a", tenSeconds)
			lock := acquire(t, a, waitpolicy.NoWait)
			_, holders := record(t, table)
			for id := range holders {
				edit(t, table, asText(recordKey()["sk"]), "SET holders.#id.#until = :bad", map[string]string{"#id": id, "#until": "until"}, item{":bad": str("soon")})
			}
			<-lock.Done()
			says(t, lock.Err(), "unreachable", "until", "a string")
			if err := lock.Release(t.Context()); !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v", err)
			}
			if _, holders := record(t, table); len(holders) > 0 {
				t.Errorf("left %v", holders)
			}
		})
	})
}

// In a rolling upgrade each version meets attributes that it does not know, and
// lacks those that it does.
func TestRecordFormat(t *testing.T) {
	mark := func(ticket int) types.AttributeValue { return object(item{"id": str("other"), "ticket": num(ticket)}) }
	for name, unknown := range map[string]item{
		"ANewersMarks":      {"released": object(item{"id": str("other"), "ticket": num(1), "call": num(1)}), "evicted": mark(0)},
		"AttributesOfNoOne": {"future": object(item{"x": num(1)}), "formatVersion": num(9)},
	} {
		t.Run("KeepsTurnsGoingWith"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
				sk := asText(recordKey()["sk"])
				a, _ := open(t, table, "a", tenSeconds)
				b, _ := open(t, table, "b", tenSeconds)
				lock := acquire(t, a, waitpolicy.NoWait)
				queued := queueUp(t.Context(), b, waitpolicy.Forever)
				time.Sleep(time.Second)
				for attribute, v := range unknown {
					edit(t, table, sk, "SET #a = :v", map[string]string{"#a": attribute}, item{":v": v})
				}
				_, holders := record(t, table)
				for id := range holders {
					edit(t, table, sk, "SET holders.#id.made = :n, holders.#id.future = :n", map[string]string{"#id": id}, item{":n": num(7)})
				}
				edit(t, table, rowSortKey(2), "SET future = :v", nil, item{":v": object(item{})})
				time.Sleep(5 * ttl)
				if lock.Err() != nil {
					t.Errorf("lost: %v", lock.Err())
				}
				if state := must(a.Inspect(t.Context(), order)); len(state.Serving) != 1 || state.Serving[0].Problem != nil || len(state.Waiting) != 1 || state.Waiting[0].Problem != nil {
					t.Errorf("%+v", state)
				}
				release(t, lock)
				got := <-queued
				if got.err != nil {
					t.Fatal(got.err)
				}
				release(t, got.lock)
				time.Sleep(time.Second)
				rec, holders := record(t, table)
				for attribute := range unknown {
					if rec[attribute] == nil {
						t.Errorf("%s is gone: %v", attribute, rec)
					}
				}
				if len(holders) > 0 || len(table.Items()) != 1 {
					t.Errorf("left %v", table.Items())
				}
			})
		})
	}

	// An older client's writes are those of its version, by hand: its entry and
	// its release have no marks.
	t.Run("TakesTurnsWithAnOlderClient", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			sk := asText(recordKey()["sk"])
			write(t, table, with(recordKey(), item{
				"ticketNumber": num(1), "granted": num(0), "servingAfter": num(0), "holdMode": str("exclusive"),
				"holders": object(item{"old-0": object(item{"beat": num(0), "ttl": num(ttl.Milliseconds()), "owner": str("older")})}),
			}))
			a, _ := open(t, table, "a", tenSeconds)
			queued := queueUp(t.Context(), a, waitpolicy.Forever)
			for range 10 {
				time.Sleep(ttl / 2)
				edit(t, table, sk, "SET holders.#id.beat = holders.#id.beat + :one, holders.#id.#until = :until", map[string]string{"#id": "old-0", "#until": "until"},
					item{":one": num(1), ":until": ms(time.Now().Add(ttl + time.Second))})
			}
			if state := must(a.Inspect(t.Context(), order)); len(state.Serving) != 1 || state.Serving[0].Owner != "older" {
				t.Fatalf("the older client was evicted: %+v", state.Serving)
			}
			edit(t, table, sk, "REMOVE holders.#id", map[string]string{"#id": "old-0"}, nil)
			got := <-queued
			if got.err != nil || got.lock.Ticket() != ticket.FromUint64(2) {
				t.Fatalf("%+v", got)
			}
			// The older client evicts no holder, and takes a number behind.
			edit(t, table, sk, "SET ticketNumber = ticketNumber + :one", nil, item{":one": num(1)})
			time.Sleep(3 * ttl)
			release(t, got.lock)
			// It claims, and releases by the fast form.
			edit(t, table, sk, "SET holders.#id = :e, granted = :t, holdMode = :m", map[string]string{"#id": "old-1"},
				item{":t": num(3), ":m": str("exclusive"), ":e": object(item{"beat": num(0), "ttl": num(ttl.Milliseconds()), "owner": str("older"), "ticket": num(3)})})
			if !locked(t, a) {
				t.Error("the older client's lock is not seen")
			}
			edit(t, table, sk, "REMOVE holders, servingAfter, holdMode SET granted = ticketNumber", nil, nil)
			next := acquire(t, a, waitpolicy.NoWait)
			if next.Ticket() != ticket.FromUint64(4) {
				t.Errorf("ticket %s, want 4", next.Ticket())
			}
			release(t, next)
		})
	})
}
