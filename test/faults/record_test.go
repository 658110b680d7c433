package faults_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/attr"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestRecordSpoiltInUse checks that a record that becomes malformed while it is in use
// gives its users an error that names it. The record is spoilt while it is in use. A
// waiter gets an error that names the attribute, and leaves nothing. A holder keeps its
// lock for as long as its renewals are applied, and otherwise loses it by its own clock,
// with the same words. No other client is served.
func TestRecordSpoiltInUse(t *testing.T) {
	for name, change := range map[string]string{
		"ticketNumber": "SET ticketNumber = :bad", "granted": "SET granted = :bad", "holders": "SET holders = :bad", "servingAfter": "REMOVE servingAfter",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond)) // an audit takes the spoilt record for a lost one
				holder, db := locktest.Open(t, table, "holder", locktest.TenSeconds)
				held := locktest.Acquire(t, holder, waitpolicy.Forever)
				waiter, _ := locktest.Open(t, table, "waiter", locktest.TenSeconds)
				waiting := locktest.QueueUp(t.Context(), waiter, waitpolicy.Forever)
				time.Sleep(2 * time.Second)
				in := &dynamodb.UpdateItemInput{TableName: aws.String(table.Name()), Key: locktest.RecordKey(), UpdateExpression: &change}
				if strings.Contains(change, ":bad") {
					in.ExpressionAttributeValues = attr.Item{":bad": attr.Str("nonsense")}
				}
				if _, err := db.UpdateItem(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				spoilt := time.Now()
				got := <-waiting
				locktest.Says(t, got.Err, name, "serving record")
				if _, ok := errors.AsType[*queue.MalformedError](got.Err); !ok || got.At.Sub(spoilt) > 2*time.Second {
					t.Errorf("after %v: %v, want a MalformedError", got.At.Sub(spoilt), got.Err)
				}
				if name == "ticketNumber" {
					// No renewal asks for it, and no grant is possible without it.
					time.Sleep(5 * locktest.TTL)
					if held.Err() != nil {
						t.Errorf("lost: %v", held.Err())
					}
					_, err := waiter.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
					locktest.Says(t, err, name, "serving record")
					return
				}
				<-held.Context().Done()
				if took := time.Since(spoilt); took > locktest.TTL || !errors.Is(held.Err(), queuelock.ErrLost) {
					t.Errorf("lost after %v: %v", took, held.Err())
				}
				locktest.Says(t, held.Err(), name)
				time.Sleep(time.Minute)
				if n := len(table.Items()); n != 1 {
					t.Errorf("%d items are left, want the record", n)
				}
				if n := table.Counts().Total().Sent; n > 400 {
					t.Errorf("%d requests", n)
				}
				_, err := waiter.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
				locktest.Says(t, err, name, "serving record")
			})
		})
	}
}

// TestLastTicket checks that the client with the last number is served, and no client
// after it. The last number is issued like any other; after it there is one clear error,
// for who comes, and who was there before is served all the same.
func TestLastTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
		before := ticket.Max.Previous().Previous()
		locktest.Write(t, table, attr.With(locktest.RecordKey(), attr.Item{"ticketNumber": before.Attribute(), "granted": before.Attribute()}))
		a, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		c, _ := locktest.Open(t, table, "c", locktest.TenSeconds)
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		waiting := locktest.QueueUp(t.Context(), b, waitpolicy.For(10*time.Minute))
		time.Sleep(time.Second)
		for _, wait := range []waitpolicy.Wait{waitpolicy.For(time.Minute), waitpolicy.Forever} {
			_, err := c.Acquire(t.Context(), locktest.Order, wait)
			if !errors.Is(err, ticket.ErrExhausted) {
				t.Errorf("%v: %v", wait, err)
			}
		}
		locktest.Release(t, held)
		got := <-waiting
		if got.Err != nil || got.Lock.Ticket() != ticket.Max {
			t.Fatalf("%+v", got)
		}
		time.Sleep(3 * locktest.TTL)
		if err := got.Lock.Err(); err != nil {
			t.Error(err)
		}
		locktest.Release(t, got.Lock)
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		locktest.Says(t, err, "exhausted")
		time.Sleep(time.Second)
		if n := len(table.Items()); n != 1 {
			t.Errorf("%d items are left, want the record", n)
		}
	})
}

// TestMalformedRecord checks that a malformed record gives an error that names it, and is
// left alone. The table holds what some other program wrote: never a panic, never served,
// and nothing of it is lost.
func TestMalformedRecord(t *testing.T) {
	s := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	n := func(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }
	m := func(v map[string]types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: v}
	}
	entry := func(name string, v types.AttributeValue) map[string]types.AttributeValue {
		e := map[string]types.AttributeValue{"beat": n("0"), "ttl": n("10000"), "owner": s("owner")}
		if e[name] = v; v == nil {
			delete(e, name)
		}
		return map[string]types.AttributeValue{
			"ticketNumber": n("1"), "granted": n("0"), "servingAfter": n("0"), "holders": m(map[string]types.AttributeValue{"h": m(e)}),
		}
	}
	for _, c := range []struct {
		name string
		item map[string]types.AttributeValue
		says []string
	}{
		{"other item", map[string]types.AttributeValue{"name": s("a customer")}, []string{"ticketNumber", "missing"}},
		{"text counter", map[string]types.AttributeValue{"ticketNumber": s("7")}, []string{"ticketNumber", "a string", "number"}},
		{"negative counter", map[string]types.AttributeValue{"ticketNumber": n("-1")}, []string{"ticketNumber", "-1"}},
		{"broken counter", map[string]types.AttributeValue{"ticketNumber": n("1.5")}, []string{"whole number"}},
		{"text holders", map[string]types.AttributeValue{"ticketNumber": n("1"), "granted": n("0"), "servingAfter": n("0"), "holders": s("me")}, []string{"holders", "a string"}},
		{"holders alone", map[string]types.AttributeValue{"ticketNumber": n("1"), "holders": m(map[string]types.AttributeValue{})}, []string{"holders", "servingAfter"}},
		{"servingAfter alone", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("5"), "servingAfter": n("1")}, []string{"holders", "servingAfter"}},
		{"granted above the counter", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("7")}, []string{"granted", "7", "5"}},
		{"text granted", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": s("5")}, []string{"granted", "a string"}},
		{"no granted", map[string]types.AttributeValue{"ticketNumber": n("5"), "servingAfter": n("1"), "holders": m(map[string]types.AttributeValue{})}, []string{"granted", "missing"}},
		{"servingAfter above the counter", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("1"), "servingAfter": n("5"), "holders": m(map[string]types.AttributeValue{})}, []string{"servingAfter", "5"}},
		{"negative granted", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("-1")}, []string{"granted", "-1"}},
		{"negative servingAfter", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("1"), "servingAfter": n("-1"), "holders": m(map[string]types.AttributeValue{})}, []string{"servingAfter", "-1"}},
		{"odd holdMode", attr.With(entry("beat", n("0")), attr.Item{"holdMode": s("Shared")}), []string{"holdMode", "Shared"}},
		{"empty holdMode", attr.With(entry("beat", n("0")), attr.Item{"holdMode": s("")}), []string{"holdMode"}},
		{"holdMode of a number", attr.With(entry("beat", n("0")), attr.Item{"holdMode": n("1")}), []string{"holdMode", "a number"}},
		{"odd holdMode of an idle queue", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("5"), "holdMode": s("x")}, []string{"holdMode", "x"}},
		{"permits of text", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("5"), "permits": s("3")}, []string{"permits", "a string"}},
		{"no permits", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("5"), "permits": n("0")}, []string{"permits", "0"}},
		{"odd scope", map[string]types.AttributeValue{"ticketNumber": n("5"), "granted": n("5"), "scope": s("world")}, []string{"scope", "world"}},
		{"text holder", map[string]types.AttributeValue{"ticketNumber": n("1"), "granted": n("0"), "servingAfter": n("0"), "holders": m(map[string]types.AttributeValue{"h": s("me")})}, []string{"holders.h", "a string"}},
		{"holder without beat", entry("beat", nil), []string{"holders.h.beat", "missing"}},
		{"holder with text ttl", entry("ttl", s("long")), []string{"holders.h.ttl", "a string"}},
		{"holder with endless ttl", entry("ttl", n("99999999999999")), []string{"holders.h.ttl", "99999999999999"}},
		{"holder with odd ticket", entry("ticket", n("0.5")), []string{"holders.h.ticket", "0.5"}},
	} {
		for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
			t.Run(c.name+" "+wait.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					table := queuelocktest.NewTable(t)
					client, db := locktest.OpenMet(t, table, "a", queuelock.Config{}) // so that TAKE comes first
					item := locktest.RecordKey()
					for k, v := range c.item {
						item[k] = v
					}
					if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}); err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					_, err := client.Acquire(ctx, locktest.Order, wait)
					locktest.Says(t, err, append(c.says, `order-7 lock`)...)
					if _, ok := errors.AsType[*queue.MalformedError](err); !ok {
						t.Errorf("%v is no MalformedError", err)
					}
					state, err := client.Inspect(ctx, locktest.Order)
					if strings.HasPrefix(c.says[0], "holders.") && err == nil {
						err = state.Serving[0].Problem
					}
					locktest.Says(t, err, c.says...)
					left := table.Items()
					for k, v := range c.item {
						// No condition can ask for a whole number, or look into entries.
						raised := k == "ticketNumber" && (c.name == "broken counter" || strings.Contains(c.name, "holder") && strings.Contains(c.says[0], "holders.h"))
						if !raised && !reflect.DeepEqual(left[0][k], v) {
							t.Errorf("attribute %s was changed from %v to %v", k, v, left[0][k])
						}
					}
					if len(left) != 1 {
						t.Errorf("%d items, want the one that was there", len(left))
					}
				})
			})
		}
	}
}

// TestExhaustedTickets checks that exhausted tickets are an error and nothing is written.
func TestExhaustedTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		item := locktest.RecordKey()
		before := ticket.Max.Previous()
		item["ticketNumber"], item["granted"] = before.Attribute(), before.Attribute()
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}); err != nil {
			t.Fatal(err)
		}
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		if lock.Ticket() != ticket.Max {
			t.Errorf("ticket %s, want the last one", lock.Ticket())
		}
		locktest.Release(t, lock)
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		if !errors.Is(err, ticket.ErrExhausted) {
			t.Errorf("%v, want ErrExhausted", err)
		}
	})
}

// The counter of a wider scope serves every queue of it: a record that holds a
// number which cannot be right costs its own queue, and no other.
func TestBadTicketNumber(t *testing.T) {
	bad, good := queuelock.Key{Entity: "bad"}, queuelock.Key{Entity: "good"}
	for name, number := range map[string]string{
		"TheLast": ticket.Max.String(), "TwoBeforeTheLast": ticket.Max.Previous().Previous().String(), "Negative": "-3", "BeyondAnyClock": "900000000000000",
	} {
		t.Run("CostsItsOwnQueueOnly/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
				cfg := locktest.TenSeconds
				cfg.Scope = ticket.ScopeTable
				a, db := locktest.Open(t, table, "a", cfg)
				for _, key := range []queuelock.Key{bad, good} {
					locktest.Release(t, locktest.Must(a.Acquire(t.Context(), key, waitpolicy.NoWait)))
				}
				if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
					TableName: aws.String(table.Name()), Key: attr.With(locktest.RecordKey(), attr.Item{"pk": attr.Str("bad")}),
					UpdateExpression: aws.String("SET ticketNumber = :n"), ExpressionAttributeValues: attr.Item{":n": attr.Num(number)},
				}); err != nil {
					t.Fatal(err)
				}
				items := len(table.Items())
				for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(time.Minute)} {
					_, one := a.Acquire(t.Context(), bad, wait)
					_, all := a.AcquireAll(t.Context(), []queuelock.Key{good, bad}, wait)
					for _, err := range []error{one, all} {
						locktest.Says(t, err, `serving record of "bad lock"`, "ticketNumber", number)
						if _, ok := errors.AsType[*queue.MalformedError](err); !ok {
							t.Errorf("%v", err)
						}
					}
				}
				lock := locktest.Must(a.Acquire(t.Context(), good, waitpolicy.NoWait))
				if n := lock.Ticket(); n.After(ticket.FromUint64(100)) > 0 {
					t.Errorf("the next ticket is %s", n)
				}
				locktest.Release(t, lock)
				if n := len(table.Items()); n != items {
					t.Errorf("%d items, want %d", n, items)
				}
			})
		})
	}
	t.Run("RaisesACounterThatWasLostAfterYears", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			cfg := locktest.TenSeconds
			cfg.Scope = ticket.ScopeTable
			a, _ := locktest.Open(t, table, "a", cfg)
			const issued = 50 * 365 * 24 * 3600 * 10_000 // seconds of fifty years, times 10^4
			locktest.Write(t, table, attr.With(locktest.RecordKey(), attr.Item{"ticketNumber": attr.Num(issued), "granted": attr.Num(issued), "scope": attr.Str("shared")}))
			lock := locktest.Acquire(t, a, waitpolicy.Forever)
			if lock.Ticket() != ticket.FromUint64(issued+1) {
				t.Errorf("ticket %s, want %d", lock.Ticket(), issued+1)
			}
			locktest.Release(t, lock)
		})
	})
}

// TestCounterOutlivesTTL checks that the counter outlives the TTL of the table. A counter
// that expires, or is reset, issues tickets twice.
func TestCounterOutlivesTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithExpiry())
		c, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		for i := range 3 {
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			if got := lock.Ticket().String(); got != fmt.Sprint(i+1) {
				t.Errorf("ticket %s after a year, want %d", got, i+1)
			}
			locktest.Release(t, lock)
			time.Sleep(365 * 24 * time.Hour)
		}
	})
}
