package requests_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/queue"
)

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
