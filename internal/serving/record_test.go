package serving_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

var layout = table.Layout{Table: "queuelock", PK: "pk", SK: "sk", TTL: "expiresAt"}

// paper is a queue without a table, for what makes no request.
func paper() table.Queue {
	return table.NewStore(nil, layout, time.Second).Queue("e", "lock", nil)
}

func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// given is a record in which h is served with ticket 4, and 7 were issued.
func given() clause.Item {
	return clause.Item{
		"pk": clause.String("e"), "sk": clause.String("lock/" + strings.Repeat("0", 38)),
		"ticketNumber": num("7"), "servingAfter": num("3"), "granted": num("2"),
		"holders": clause.Map(clause.Item{"h": clause.Map(entry())}),
		"turn":    clause.Map(clause.Item{"mean": num("500"), "deviation": num("20")}),
	}
}

func entry() clause.Item {
	return clause.Item{"beat": num("3"), "ttl": num("60000"), "until": num("1700000000000"), "since": num("1690000000000"), "owner": clause.String("host:1")}
}

// TestRoundTrip checks that a record is read as it was written.
func TestRoundTrip(t *testing.T) {
	rec, err := queue.DecodeRecord(paper().Items, given())
	if err != nil {
		t.Fatal(err)
	}
	h, mine := rec.Mine("x", "h")
	if !mine || h.Ticket != n(4) || h.Owner != "host:1" || h.Lease.Beat != 3 || h.Lease.TTL != time.Minute ||
		h.Lease.Until.UnixMilli() != 1700000000000 || h.Since.UnixMilli() != 1690000000000 {
		t.Errorf("the holder is read as %+v", h)
	}
	if !rec.Exists || !rec.Present || rec.TicketNumber != n(7) || rec.ServingAfter != n(3) || rec.Granted != n(2) ||
		rec.HoldTime != (queue.HoldTime{Mean: 500 * time.Millisecond, Deviation: 20 * time.Millisecond}) {
		t.Errorf("the record is read as %+v", rec)
	}
	if _, mine := rec.Mine("H", "hh", ""); mine {
		t.Error("a holder was found by another id")
	}
	claimed := given()
	claimed["holders"].(*types.AttributeValueMemberM).Value["h"].(*types.AttributeValueMemberM).Value["ticket"] = num("6")
	claimed["granted"] = num("6")
	rec, err = queue.DecodeRecord(paper().Items, claimed)
	if h, _ := rec.Mine("h"); err != nil || h.Ticket != n(6) || rec.Floor() != n(6) {
		t.Errorf("a claim of 6 is read as ticket %v with floor %v, %v", h.Ticket, rec.Floor(), err)
	}
	if rec, err := queue.DecodeRecord(paper().Items, nil); err != nil || rec.Exists || rec.Present || !rec.Floor().IsZero() {
		t.Errorf("a missing item is read as %+v, %v", rec, err)
	}
}

// TestFloor checks that the floor is the higher of the last ticket claimed and the last
// served at once.
func TestFloor(t *testing.T) {
	for _, test := range []struct {
		present       bool
		after, grants ticket.Number
		floor         ticket.Number
	}{
		{false, ticket.Number{}, n(5), n(5)},
		{false, n(9), n(5), n(5)},
		{true, n(3), n(2), n(4)},
		{true, n(3), n(4), n(4)},
		{true, n(3), n(6), n(6)},
		{true, ticket.Number{}, ticket.Number{}, n(1)},
		{true, ticket.Max, n(1), ticket.Max},
	} {
		rec := queue.Record{Exists: true, Present: test.present, ServingAfter: test.after, Granted: test.grants}
		if got := rec.Floor(); got != test.floor {
			t.Errorf("floor of %+v is %v, want %v", rec, got, test.floor)
		}
	}
}

// TestMalformedRecord checks that a malformed record gives an error that names the
// attribute, and serves no client.
func TestMalformedRecord(t *testing.T) {
	holder := func(attribute string, value types.AttributeValue) func(clause.Item) {
		return func(item clause.Item) {
			e := item["holders"].(*types.AttributeValueMemberM).Value["h"].(*types.AttributeValueMemberM).Value
			e[attribute] = value
			if value == nil {
				delete(e, attribute)
			}
		}
	}
	for name, test := range map[string]struct {
		change    func(clause.Item)
		attribute string
	}{
		"no ticketNumber":        {func(i clause.Item) { delete(i, "ticketNumber") }, "ticketNumber"},
		"ticketNumber a string":  {func(i clause.Item) { i["ticketNumber"] = clause.String("7") }, "ticketNumber"},
		"ticketNumber negative":  {func(i clause.Item) { i["ticketNumber"] = num("-7") }, "ticketNumber"},
		"ticketNumber huge":      {func(i clause.Item) { i["ticketNumber"] = num("1E+100") }, "ticketNumber"},
		"granted above the last": {func(i clause.Item) { i["granted"] = num("8") }, "granted"},
		"granted missing":        {func(i clause.Item) { delete(i, "granted") }, "granted"},
		"serving after the last": {func(i clause.Item) { i["servingAfter"] = num("7") }, "servingAfter"},
		"granted a fraction":     {func(i clause.Item) { i["granted"] = num("2.5") }, "granted"},
		"granted a map":          {func(i clause.Item) { i["granted"] = clause.Map(nil) }, "granted"},
		"servingAfter missing":   {func(i clause.Item) { delete(i, "servingAfter") }, "holders"},
		"holders missing":        {func(i clause.Item) { delete(i, "holders") }, "holders"},
		"servingAfter a boolean": {func(i clause.Item) { i["servingAfter"] = &types.AttributeValueMemberBOOL{} }, "servingAfter"},
		"holders a list":         {func(i clause.Item) { i["holders"] = &types.AttributeValueMemberL{} }, "holders"},
		"holder a string":        {func(i clause.Item) { i["holders"] = clause.Map(clause.Item{"h": clause.String("me")}) }, "holders.h"},
		"holder null": {func(i clause.Item) {
			i["holders"] = clause.Map(clause.Item{"h": &types.AttributeValueMemberNULL{Value: true}})
		}, "holders.h"},
		"holder without beat":      {holder("beat", nil), "holders.h.beat"},
		"holder with a huge beat":  {holder("beat", num("1E+30")), "holders.h.beat"},
		"holder without ttl":       {holder("ttl", nil), "holders.h.ttl"},
		"holder with ttl 0":        {holder("ttl", num("0")), "holders.h.ttl"},
		"holder with until soon":   {holder("until", clause.String("soon")), "holders.h.until"},
		"holder with owner 7":      {holder("owner", num("7")), "holders.h.owner"},
		"holder with ticket -1":    {holder("ticket", num("-1")), "holders.h.ticket"},
		"holder with since binary": {holder("since", &types.AttributeValueMemberB{Value: []byte{1}}), "holders.h.since"},
	} {
		item := given()
		test.change(item)
		rec, err := queue.DecodeRecord(paper().Items, item)
		if strings.HasPrefix(test.attribute, "holders.") {
			if err != nil || len(rec.Holders) != 1 {
				t.Errorf("%s: got %+v, %v, want a record with one holder", name, rec, err)
				continue
			}
			err = rec.Holders[0].Problem
		}
		malformed, ok := errors.AsType[*clause.MalformedError](err)
		if !ok || malformed.Attribute != test.attribute || !strings.Contains(err.Error(), `"e lock"`) {
			t.Errorf("%s: got %v, %v, want an error of %s in the record of its queue", name, rec, err, test.attribute)
		}
	}
}

// TestMalformedMeasure checks that a record with a malformed measure of turns is not
// refused.
func TestMalformedMeasure(t *testing.T) {
	for _, turn := range []types.AttributeValue{
		clause.Map(nil), clause.Map(clause.Item{"mean": num("-1"), "deviation": num("1")}),
		clause.Map(clause.Item{"mean": num("1E+15"), "deviation": num("1")}), clause.Map(clause.Item{"mean": clause.String("1"), "deviation": num("1")}),
	} {
		item := given()
		item["turn"] = turn
		if rec, err := queue.DecodeRecord(paper().Items, item); err != nil || rec.HoldTime != (queue.HoldTime{}) {
			t.Errorf("a turn of %v is read as %v, %v", turn, rec.HoldTime, err)
		}
	}
}

// TestMeasureOfTurns checks that the measure of turns follows the turns and stays
// positive.
func TestMeasureOfTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var turn queue.HoldTime
		length := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "length"))
		for range rapid.IntRange(0, 20).Draw(t, "others before") {
			turn = turn.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "before")))
			if turn.Mean < 0 || turn.Deviation < 0 || turn.Mean > time.Hour || turn.Deviation > time.Hour {
				t.Fatalf("measured %+v", turn)
			}
		}
		for range 200 {
			turn = turn.Add(length)
		}
		if d := (turn.Mean - length).Abs(); d > length/50+100 || turn.Deviation > length/20+100 {
			t.Fatalf("after 200 turns of %v measured %+v", length, turn)
		}
	})
}

// drawValue draws any attribute value, also one that nests, with a bias towards
// what a record holds.
func drawValue(t *rapid.T, depth int) types.AttributeValue {
	switch rapid.IntRange(0, 9).Draw(t, "type") {
	case 0:
		return clause.String(rapid.String().Draw(t, "s"))
	case 1:
		return &types.AttributeValueMemberBOOL{Value: rapid.Bool().Draw(t, "bool")}
	case 2:
		return &types.AttributeValueMemberNULL{Value: true}
	case 3:
		return &types.AttributeValueMemberB{Value: []byte("x")}
	case 4:
		return &types.AttributeValueMemberNS{Value: []string{"1"}}
	case 5, 6:
		if depth > 0 {
			m := clause.Item{}
			for range rapid.IntRange(0, 4).Draw(t, "entries") {
				m[rapid.SampledFrom(names).Draw(t, "name")] = drawValue(t, depth-1)
			}
			return clause.Map(m)
		}
	}
	return num(rapid.SampledFrom([]string{
		"0", "1", "2", "7", "-1", "1.5", "1E+3", "1E+125", "1E-130", "99999999999999999999999999999999999999",
		"9223372036854775807", "-9223372036854775808", "-62135596800000", "", "NaN", "0x10", "1_000", "1E999999999", strings.Repeat("9", 200),
	}).Draw(t, "n"))
}

var names = []string{
	"ticketNumber", "servingAfter", "granted", "holders", "turn", "beat", "until", "ttl", "since", "owner", "ticket", "mean",
	"deviation", "h", "", "a.b", "ü", "pk", "sk",
}

// TestHostileRecords checks that hostile records never cause a panic and never yield a
// holder.
func TestHostileRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item := given()
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			target := item
			if h, ok := item["holders"].(*types.AttributeValueMemberM); ok && rapid.Bool().Draw(t, "in the holder") {
				target = h.Value
				if e, ok := h.Value["h"].(*types.AttributeValueMemberM); ok && rapid.Bool().Draw(t, "in its entry") {
					target = e.Value
				}
			}
			name := rapid.SampledFrom(names).Draw(t, "name")
			if rapid.Bool().Draw(t, "delete") {
				delete(target, name)
			} else {
				target[name] = drawValue(t, 3)
			}
		}
		requireSane(t, item)
	})
}

// TestTakeOfHostileRecord checks that a TAKE of a hostile record is served, queued or
// refused with a reason. What TAKE refuses without a holder in the way must be malformed:
// otherwise a waiter would try it for ever.
func TestTakeOfHostileRecord(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	name, runs := tb.Name(), 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		q := queueOf(tb, fmt.Sprint("e", runs))
		item := given()
		for range rapid.IntRange(1, 3).Draw(rt, "changes") {
			attribute := rapid.SampledFrom([]string{"ticketNumber", "servingAfter", "granted", "holders", "turn"}).Draw(rt, "attribute")
			if rapid.Bool().Draw(rt, "delete") {
				delete(item, attribute)
			} else {
				item[attribute] = drawValue(rt, 2)
			}
		}
		for attribute, value := range q.RecordKey() {
			item[attribute] = value
		}
		if _, err := tb.Client("given").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
			rt.Skip("the table does not store it")
		}
		rec, err := serving.Take(t.Context(), q, entryOf("x"), false)
		_, malformed := errors.AsType[*clause.MalformedError](err)
		if err != nil && !malformed && !errors.Is(err, ticket.ErrExhausted) {
			rt.Fatalf("%v gave %+v, %v", item, rec, err)
		}
	})
}

func requireSane(t interface {
	Helper()
	Fatalf(string, ...any)
}, item clause.Item,
) {
	t.Helper()
	rec, err := queue.DecodeRecord(paper().Items, item)
	if err != nil {
		if _, ok := errors.AsType[*clause.MalformedError](err); !ok {
			t.Fatalf("got %v, want a MalformedError", err)
		}
		return
	}
	rec.Floor()
	entries, _ := item["holders"].(*types.AttributeValueMemberM)
	if entries == nil && len(rec.Holders) > 0 || entries != nil && len(rec.Holders) != len(entries.Value) {
		t.Fatalf("%d holders were conjured out of %v", len(rec.Holders), item["holders"])
	}
	for _, h := range rec.Holders {
		if h.Unreadable() {
			continue
		}
		if h.Lease.TTL <= 0 && !h.Lease.Endless() || h.Lease.TTL > queue.MaxLease || h.Ticket.IsZero() && h.Lease.Beat == 0 {
			e := entries.Value[h.ID].(*types.AttributeValueMemberM).Value
			if _, ok := e["ticket"]; !ok {
				t.Fatalf("conjured the holder %+v", h)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("7", "3", "2", "3", "60000", "4", byte(0))
	f.Add("1E+3", "99999999999999999999999999999999999999", "-1", "1E+30", "0", "", byte(1))
	f.Add("", "x", "NaN", "1E999999999", "604800001", "1.5", byte(3))
	f.Fuzz(func(t *testing.T, number, after, granted, beat, ttl, holderTicket string, kinds byte) {
		value := func(bit int, s string) types.AttributeValue {
			if kinds&(1<<bit) != 0 {
				return clause.String(s)
			}
			return num(s)
		}
		requireSane(t, clause.Item{
			"ticketNumber": value(0, number), "servingAfter": value(1, after), "granted": value(2, granted),
			"holders": clause.Map(clause.Item{"h": clause.Map(clause.Item{"beat": value(3, beat), "ttl": value(4, ttl), "ticket": value(5, holderTicket)})}),
		})
	})
}

func put(t *testing.T, tb *queuelocktest.Table, item clause.Item) {
	t.Helper()
	name := tb.Name()
	if _, err := tb.Client("given").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
		t.Fatal(err)
	}
}

// TestWritesOfMalformedRecord checks that every write reports a malformed record and
// grants nothing.
func TestWritesOfMalformedRecord(t *testing.T) {
	for name, change := range map[string]func(clause.Item){
		"holders without servingAfter": func(i clause.Item) { delete(i, "servingAfter") },
		"ticketNumber a string":        func(i clause.Item) { i["ticketNumber"] = clause.String("7") },
		"another program's":            func(i clause.Item) { i["holders"] = clause.String("7") },
	} {
		t.Run(name, func(t *testing.T) {
			tb := queuelocktest.NewTable(t)
			q, ctx := queueOf(tb, "e"), t.Context()
			item := given()
			change(item)
			put(t, tb, item)
			for what, do := range map[string]func() (queue.Record, error){
				"get":        func() (queue.Record, error) { return serving.Get(ctx, q) },
				"take idle":  func() (queue.Record, error) { return serving.Take(ctx, q, entryOf("x"), true) },
				"claim":      func() (queue.Record, error) { return serving.Claim(ctx, q, entryOf("x"), n(7)) },
				"reset":      func() (queue.Record, error) { return serving.Reset(ctx, q, n(7)) },
				"heartbeat":  func() (queue.Record, error) { return heartbeat(ctx, q, "x", n(7), queue.Renewal{}) },
				"hand off":   func() (queue.Record, error) { return sendRelease(ctx, q, queue.FormHandOff, endingOf("x", 7)) },
				"fast":       func() (queue.Record, error) { return sendRelease(ctx, q, queue.FormFast, endingOf("x", 7)) },
				"evict":      func() (queue.Record, error) { return serving.Evict(ctx, q, queue.Holder{ID: "x"}) },
				"first take": func() (queue.Record, error) { return serving.Take(ctx, q, entryOf("y"), false) },
			} {
				rec, err := do()
				if _, ok := errors.AsType[*clause.MalformedError](err); !ok {
					t.Errorf("%s gave %+v, %v, want a MalformedError", what, rec, err)
				}
			}
		})
	}
}
