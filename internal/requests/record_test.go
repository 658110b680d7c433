package requests_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
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

func TestRoundTrip(t *testing.T) {
	rec := locktest.Must(queue.DecodeRecord(paper().Items, given()))
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
	rec = locktest.Must(queue.DecodeRecord(paper().Items, claimed))
	if h, _ := rec.Mine("h"); h.Ticket != n(6) || rec.Floor() != n(6) {
		t.Errorf("a claim of 6 is read as ticket %v with floor %v", h.Ticket, rec.Floor())
	}
	if rec, err := queue.DecodeRecord(paper().Items, nil); err != nil || rec.Exists || rec.Present || !rec.Floor().IsZero() {
		t.Errorf("a missing item is read as %+v, %v", rec, err)
	}
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
