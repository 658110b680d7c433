package faultnet_test

import (
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestCapacity checks that capacity is counted, and shown only to requests that ask for it.
func TestCapacity(t *testing.T) {
	for ask, shown := range map[types.ReturnConsumedCapacity]bool{
		"": false, types.ReturnConsumedCapacityNone: false, types.ReturnConsumedCapacityTotal: true, types.ReturnConsumedCapacityIndexes: true,
	} {
		t.Run("asked for "+string(ask), func(t *testing.T) {
			r := newRig(faultnet.Config{})
			client, _ := r.client("a")
			in := put("k<>&", false)
			in.ReturnConsumedCapacity = ask
			if written := locktest.Must(client.PutItem(t.Context(), in)); (written.ConsumedCapacity != nil) != shown {
				t.Errorf("PutItem shows %v, want shown = %v", written.ConsumedCapacity, shown)
			}
			read := locktest.Must(client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("tab"), Key: in.Item, ReturnConsumedCapacity: ask}))
			if read.Item["pk"] == nil || av.Text(read.Item["pk"]) != "k<>&" || (read.ConsumedCapacity != nil) != shown {
				t.Errorf("GetItem shows %v of %v, want shown = %v", read.ConsumedCapacity, read.Item, shown)
			}
			r.wantTally(t, "PutItem", faultnet.Tally{Sent: 1, Applied: 1, WriteUnits: 1})
			r.wantTally(t, "GetItem", faultnet.Tally{Sent: 1, Applied: 1, ReadUnits: 0.5})
		})
	}
}

// TestChangedReply checks that an answer from which the capacity was taken has its own checksum and length.
func TestChangedReply(t *testing.T) {
	req := locktest.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://dynamodb.invalid/",
		strings.NewReader(`{"TableName":"tab","Item":{"pk":{"S":"k"}}}`)))
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
	resp := locktest.Must(newRig(faultnet.Config{}).net.Connect("a", nil).RoundTrip(req))
	defer resp.Body.Close()
	body := locktest.Must(io.ReadAll(resp.Body))
	if got, want := resp.Header.Get("X-Amz-Crc32"), fmt.Sprint(crc32.ChecksumIEEE(body)); got != want || resp.ContentLength != int64(len(body)) {
		t.Errorf("checksum %s and length %d of %s, want %s", got, resp.ContentLength, body, want)
	}
}

// TestCapacityOfFailedCondition checks that a failed condition costs the larger item.
func TestCapacityOfFailedCondition(t *testing.T) {
	const kilobyte = 1024 - len("pk") - len("k") - len("padding")
	for name, test := range map[string]struct {
		old, new    int // bytes of padding
		first, then float64
	}{
		"small":          {10, 10, 1, 1},
		"old is larger":  {2100, 10, 3, 3},
		"new is larger":  {10, 1100, 1, 2},
		"exactly one KB": {kilobyte, 0, 1, 1},
		"one byte more":  {kilobyte + 1, 0, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(faultnet.Config{})
			client, _ := r.client("a")
			padded := func(size int) *dynamodb.PutItemInput {
				in := put("k", true)
				in.Item["padding"] = av.Str(strings.Repeat("x", size))
				return in
			}
			locktest.Must(client.PutItem(t.Context(), padded(test.old)))
			if _, err := client.PutItem(t.Context(), padded(test.new)); err == nil {
				t.Fatal("the condition held")
			}
			r.wantTally(t, "PutItem", faultnet.Tally{Sent: 2, Applied: 2, FailedConditions: 1, WriteUnits: test.first + test.then})
		})
	}
}
