package serving_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestSetData checks that only the holder sets data, and that a late call does not.
func TestSetData(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		set := func(id string, ticket int, nth int64, data string) (string, error) {
			t.Helper()
			rec, err := setData(t.Context(), q, id, n(ticket), nth, []byte(data))
			h, _ := rec.Mine(id)
			return string(h.Data), err
		}
		if _, err := set("a", 1, 1, "x"); !errors.Is(err, serving.ErrRefused) {
			t.Errorf("without a record: %v, want a refusal", err)
		}
		if n := len(tb.Items()); n != 0 {
			t.Errorf("%d items were made by it", n)
		}
		take(t, q, "a")
		take(t, q, "b") // waits with ticket 2
		for _, step := range []struct {
			nth        int64
			data, want string
		}{
			{1, "one", "one"},
			{1, "one", "one"}, // the same once more
			{3, "three", "three"},
			{2, "two", "three"}, // late
			{3, "three", "three"},
			{4, "", ""},
			{3, "three", ""},
			{5, "five", "five"},
		} {
			if got, err := set("a", 1, step.nth, step.data); err != nil || got != step.want {
				t.Errorf("call %d with %q left %q, %v, want %q", step.nth, step.data, got, err, step.want)
			}
		}
		for name, who := range map[string]struct {
			id     string
			ticket int
		}{"a waiter": {"b", 2}, "a stranger": {"c", 1}, "an orphan with another ticket": {"a", 2}} {
			if _, err := set(who.id, who.ticket, 9, "no"); !errors.Is(err, serving.ErrRefused) {
				t.Errorf("%s: %v, want a refusal", name, err)
			}
		}
		if rec, err := serving.Get(t.Context(), q); err != nil || len(rec.Holders) != 1 || string(rec.Holders[0].Data) != "five" || rec.Holders[0].DataSet != 5 || rec.Holders[0].Lease.Beat != 0 {
			t.Errorf("the record is %+v, %v", rec, err)
		}
		if _, err := sendRelease(t.Context(), q, queue.FormHandOff, endingOf("a", 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := set("a", 1, 6, "late"); !errors.Is(err, serving.ErrRefused) {
			t.Errorf("after the release: %v, want a refusal", err)
		}
		claim := entryOf("b")
		claim.Data = []byte("b's own")
		rec, err := serving.Claim(t.Context(), q, claim, n(2))
		if h, _ := rec.Mine("b"); err != nil || string(h.Data) != "b's own" || h.DataSet != 0 {
			t.Errorf("a claim with data: %+v, %v", rec, err)
		}
	})
}

// TestDataOfWrongType checks that data of another type than binary is ignored.
func TestDataOfWrongType(t *testing.T) {
	item := given()
	e := item["holders"].(*types.AttributeValueMemberM).Value["h"].(*types.AttributeValueMemberM).Value
	for _, data := range []types.AttributeValue{clause.String("text"), num("7"), clause.Map(nil), &types.AttributeValueMemberNULL{Value: true}} {
		e["data"] = data
		if rec, err := queue.DecodeRecord(paper().Items, item); err != nil || rec.Holders[0].Data != nil || rec.Holders[0].Lease.TTL != time.Minute {
			t.Errorf("data that is %s: %+v, %v", clause.TypeName(data), rec, err)
		}
	}
	e["data"], e["dataSet"] = &types.AttributeValueMemberB{Value: []byte("kept")}, num("12")
	if rec, err := queue.DecodeRecord(paper().Items, item); err != nil || string(rec.Holders[0].Data) != "kept" || rec.Holders[0].DataSet != 12 {
		t.Errorf("data is read as %+v, %v", rec, err)
	}
	e["dataSet"] = clause.String("12") // by which writes are decided
	rec, err := queue.DecodeRecord(paper().Items, item)
	malformed, ok := errors.AsType[*clause.MalformedError](rec.Holders[0].Problem)
	if err != nil || !ok || malformed.Attribute != "holders.h.dataSet" {
		t.Errorf("a dataSet that is no number: %v", malformed)
	}
}
