package faultnet_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/faultnet"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestCapacity checks that capacity is counted, and shown only to requests that ask for
// it.
func TestCapacity(t *testing.T) {
	for _, test := range []struct {
		ask   types.ReturnConsumedCapacity
		shown bool
	}{
		{"", false},
		{types.ReturnConsumedCapacityNone, false},
		{types.ReturnConsumedCapacityTotal, true},
		{types.ReturnConsumedCapacityIndexes, true},
	} {
		t.Run("asked for "+string(test.ask), func(t *testing.T) {
			r := newRig(faultnet.Config{})
			client, _ := r.client("a")
			in := put("k<>&", false)
			in.ReturnConsumedCapacity = test.ask
			written := locktest.Must(client.PutItem(t.Context(), in))
			if (written.ConsumedCapacity != nil) != test.shown {
				t.Errorf("PutItem shows %v, want shown = %v", written.ConsumedCapacity, test.shown)
			}
			ask := get("k<>&")
			ask.ReturnConsumedCapacity = test.ask
			read := locktest.Must(client.GetItem(t.Context(), ask))
			if pk, _ := read.Item["pk"].(*types.AttributeValueMemberS); pk == nil || pk.Value != "k<>&" {
				t.Errorf("read %v", read.Item)
			}
			if (read.ConsumedCapacity != nil) != test.shown {
				t.Errorf("GetItem shows %v, want shown = %v", read.ConsumedCapacity, test.shown)
			}
			r.wantTally(t, "PutItem", faultnet.Tally{Sent: 1, Applied: 1, WriteUnits: 3})
			r.wantTally(t, "GetItem", faultnet.Tally{Sent: 1, Applied: 1, ReadUnits: 0.5})
		})
	}
}

// TestChangedReply checks that a changed reply has its own checksum and length.
func TestChangedReply(t *testing.T) {
	r := newRig(faultnet.Config{})
	for _, asked := range []string{"", `,"ReturnConsumedCapacity":"TOTAL"`} {
		req := locktest.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://dynamodb.invalid/",
			strings.NewReader(`{"TableName":"t","Item":{"pk":{"S":"k"}}`+asked+`}`)))
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
		resp := locktest.Must(r.net.Connect("a", nil).RoundTrip(req))
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if got, want := resp.Header.Get("X-Amz-Crc32"), fmt.Sprint(crc32.ChecksumIEEE(body)); got != want {
			t.Errorf("checksum %s of %s, want %s", got, body, want)
		}
		if resp.ContentLength != int64(len(body)) {
			t.Errorf("length %d of %s", resp.ContentLength, body)
		}
	}
}

// TestCapacityOfTransaction checks that the capacity of a transaction is the sum over its
// tables.
func TestCapacityOfTransaction(t *testing.T) {
	r := newRig(faultnet.Config{})
	client, _ := r.client("a")
	locktest.Must(client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String("t"), Item: put("k", false).Item}},
	}}))
	r.wantTally(t, "TransactWriteItems", faultnet.Tally{Sent: 1, Applied: 1, WriteUnits: 6})
}

// TestWithoutCapacity checks that operations without capacity are left unchanged.
func TestWithoutCapacity(t *testing.T) {
	r := newRig(faultnet.Config{})
	client, _ := r.client("a")
	locktest.Must(client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("t")}))
	if got := fmt.Sprint(r.asked); got != "[]" {
		t.Errorf("asked the engine for capacity %v", got)
	}
	r.wantTally(t, "DescribeTable", faultnet.Tally{Sent: 1, Applied: 1})
}

// TestCapacityOfFailedCondition checks that a failed condition costs the larger item.
func TestCapacityOfFailedCondition(t *testing.T) {
	for _, test := range []struct {
		name     string
		old, new int // bytes of padding
		want     float64
	}{
		{"small", 10, 10, 1},
		{"old is larger", 2100, 10, 3},
		{"new is larger", 10, 1100, 2},
		{"exactly one KB", 1024 - len("pk") - len("k") - len("padding"), 0, 1},
		{"one byte more", 1025 - len("pk") - len("k") - len("padding"), 0, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(faultnet.Config{})
			client, _ := r.client("a")
			padded := func(size int) *dynamodb.PutItemInput {
				in := put("k", true)
				in.Item["padding"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", size)}
				return in
			}
			locktest.Must(client.PutItem(t.Context(), padded(test.old)))
			if _, err := client.PutItem(t.Context(), padded(test.new)); err == nil {
				t.Fatal("the condition held")
			}
			r.wantTally(t, "PutItem", faultnet.Tally{Sent: 2, Applied: 2, FailedConditions: 1, WriteUnits: 3 + test.want})
		})
	}
}
