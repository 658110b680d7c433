package serving_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

// onAllEngines runs a test on each engine that is installed, and on the embedded
// one without dates.
func onAllEngines(t *testing.T, test func(t *testing.T, tb *queuelocktest.Table)) {
	engines.Each(t, func(t *testing.T, e engines.Engine) {
		name := "queuelock-" + strings.ToLower(rand.Text()[:12])
		tb := queuelocktest.NewTable(t, queuelocktest.WithEngine(e.Handler(t)), queuelocktest.WithName(name), queuelocktest.WithoutTable())
		db := e.Client(t)
		if err := table.Create(t.Context(), db, table.Layout{Table: name, PK: "pk", SK: "sk", TTL: "expiresAt"}); err != nil {
			t.Fatal(err)
		}
		test(t, tb)
		if _, err := db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
	})
	t.Run("without dates", func(t *testing.T) {
		test(t, queuelocktest.NewTable(t, queuelocktest.WithoutDate()))
	})
}

func number(i int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(i)}
}

// record is a record of a wider scope: the last ticket that entered, the highest
// claimed, and, unless after is negative, holders by id, of the ticket behind
// after.
func record(last, granted, after int, ids ...string) clause.Item {
	item := clause.Item{"ticketNumber": number(last), "granted": number(granted), "scope": clause.String("shared")}
	if after >= 0 {
		holders := clause.Item{}
		for _, id := range ids {
			holders[id] = clause.Map(clause.Item{"beat": number(0), "ttl": number(60_000)})
		}
		item["servingAfter"], item["holders"], item["holdMode"] = number(after), clause.Map(holders), clause.String("exclusive")
	}
	return item
}

// TestEnterConditions checks that an ENTER is refused when any one of its conditions
// is false.
func TestEnterConditions(t *testing.T) {
	with := func(item clause.Item, name string, value types.AttributeValue) clause.Item {
		item[name] = value
		if value == nil {
			delete(item, name)
		}
		return item
	}
	onAllEngines(t, func(t *testing.T, tb *queuelocktest.Table) {
		db, name := tb.Client("given"), tb.Name()
		for i, test := range []struct {
			what   string
			item   clause.Item // of the record; nil: there is none
			ticket int
			noWait bool
			mode   queue.Mode

			served, refused, made bool
			say                   string // of another error
			holders, last         int    // afterwards
		}{
			{what: "no record", ticket: 7, served: true, holders: 1, last: 7},
			{what: "no record, NoWait", ticket: 7, noWait: true, served: true, holders: 1, last: 7},
			{what: "the first ticket of all", ticket: 1, served: true, holders: 1, last: 1},
			{what: "idle", item: record(5, 5, -1), ticket: 7, served: true, holders: 1, last: 7},
			{what: "the next number", item: record(5, 5, -1), ticket: 6, served: true, holders: 1, last: 6},
			{what: "busy", item: record(5, 0, 4, "other"), ticket: 7, holders: 1, last: 7},
			{what: "busy, NoWait", item: record(5, 0, 4, "other"), ticket: 7, noWait: true, refused: true, holders: 1, last: 5},
			{what: "handed off", item: record(5, 0, 4), ticket: 7, last: 7},
			{what: "handed off, NoWait", item: record(5, 0, 4), ticket: 7, noWait: true, last: 7},
			{what: "the same ticket again", item: record(7, 0, 6, "other"), ticket: 7, made: true, holders: 1, last: 7},
			{what: "a later ticket came first", item: record(8, 0, 4), ticket: 7, made: true, last: 8},
			{what: "a later ticket came first and left", item: record(8, 8, -1), ticket: 7, made: true, last: 8},
			{what: "of the queue's own scope", item: with(record(5, 5, -1), "scope", nil), ticket: 7, say: "is a queue of ScopeQueue, and a queue of ScopeTable is asked for", last: 5},
			{what: "of another scope", item: with(record(5, 5, -1), "scope", clause.String("entity")), ticket: 7, say: "is a queue of ScopeEntity, and a queue of ScopeTable is asked for", last: 5},
			{what: "of no scope there is", item: with(record(5, 5, -1), "scope", clause.String("galaxy")), ticket: 7, say: "galaxy"},
			{what: "a semaphore", item: with(record(5, 5, -1), "permits", number(3)), ticket: 7, say: "is a semaphore of 3, and a lock is asked for", last: 5},
			{what: "a semaphore of another number", item: with(record(5, 5, -1), "permits", number(3)), ticket: 7, mode: queue.Mode{Permits: 2}, say: "is a semaphore of 3, and a semaphore of 2 is asked for", last: 5},
			{what: "the same semaphore", item: with(record(5, 5, -1), "permits", number(3)), ticket: 7, mode: queue.Mode{Permits: 3}, served: true, holders: 1, last: 7},
			{what: "a new semaphore", ticket: 7, mode: queue.Mode{Permits: 3}, served: true, holders: 1, last: 7},
			{what: "to share", item: record(5, 5, -1), ticket: 7, mode: queue.Mode{Shared: true}, served: true, holders: 1, last: 7},
			{what: "no counter", item: with(record(5, 5, -1), "ticketNumber", nil), ticket: 7, say: "ticketNumber is missing"},
			{what: "a counter below zero", item: with(with(record(5, 5, -1), "granted", nil), "ticketNumber", number(-1)), ticket: 7, say: "ticketNumber is -1"},
			{what: "a counter that is none", item: with(record(5, 5, -1), "ticketNumber", clause.String("5")), ticket: 7, say: "ticketNumber is a string"},
			{what: "half a holder", item: with(record(5, 0, 4), "holders", nil), ticket: 7, say: "present together"},
			{what: "granted above the counter", item: record(5, 6, -1), ticket: 7, say: "granted is 6"},
		} {
			q := queueOf(tb, fmt.Sprint("e", i))
			if test.item != nil {
				item := clause.Item{}
				for name, value := range test.item {
					item[name] = value
				}
				for name, value := range q.RecordKey() {
					item[name] = value
				}
				if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
					t.Fatal(err)
				}
			}
			e := entryOf("me")
			e.Mode = test.mode
			rec, err := serving.Enter(t.Context(), q, e, n(test.ticket), ticket.ScopeTable, test.noWait)
			switch {
			case test.say != "":
				if err == nil || errors.Is(err, serving.ErrRefused) || !strings.Contains(err.Error(), test.say) {
					t.Errorf("%s: %v, want that it says %q", test.what, err, test.say)
				}
			case errors.Is(err, serving.ErrRefused) != test.refused || errors.Is(err, serving.ErrMade) != test.made || !test.refused && !test.made && err != nil:
				t.Errorf("%s: %v, refused: %v", test.what, err, test.refused)
			}
			if _, wrong := errors.AsType[*clause.MalformedError](err); wrong {
				continue
			}
			if test.say != "" {
				if rec, err = serving.Get(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			me, mine := rec.Mine("me")
			if mine != test.served || mine && me.Ticket != n(test.ticket) || len(rec.Holders) != test.holders || rec.TicketNumber != n(test.last) {
				t.Errorf("%s: the record is %+v", test.what, rec)
			}
			if err == nil && test.say == "" && (rec.Scope != ticket.ScopeTable || rec.Permits != test.mode.Permits || rec.Shared != test.mode.Shared) {
				t.Errorf("%s: of scope %q, %d permits, shared %v", test.what, rec.Scope, rec.Permits, rec.Shared)
			}
		}
	})
}

// TestEnterOnce checks that an ENTER is applied once. Later ones of the same ticket
// are refused permanently, by any id, also when its turn is over.
func TestEnterOnce(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		enter := func(id string, i int) (queue.Record, error) {
			return serving.Enter(t.Context(), q, entryOf(id), n(i), ticket.ScopeEntity, false)
		}
		if got := cost(tb, func() {
			if rec, err := enter("a", 3); err != nil || len(rec.Holders) != 1 || rec.Floor() != n(3) {
				t.Errorf("%+v, %v", rec, err)
			}
		}); got != 1 {
			t.Errorf("the first use took %d requests, want 1", got)
		}
		for _, id := range []string{"a", "a-2"} {
			rec, err := enter(id, 3)
			if _, mine := rec.Mine("a"); !errors.Is(err, serving.ErrMade) || !mine {
				t.Errorf("again as %s: %+v, %v", id, rec, err)
			}
		}
		if _, err := sendRelease(t.Context(), q, queue.FormFast, endingOf("a", 3)); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "a-2"} {
			if rec, err := enter(id, 3); !errors.Is(err, serving.ErrMade) || rec.Present {
				t.Errorf("late as %s: %+v, %v", id, rec, err)
			}
		}
		if _, err := serving.Take(t.Context(), q, entryOf("b"), false); err == nil || !strings.Contains(err.Error(), "ScopeEntity") {
			t.Errorf("a TAKE of a queue of a wider scope: %v", err)
		}
	})
}
