package faultnet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// shelf is the least engine that a transport can be tested against: it puts
// items, refuses to put one twice where a condition is given, and gets them.
type shelf struct {
	mu    sync.Mutex
	items map[string]json.RawMessage
	puts  []time.Time
	asked []string // ReturnConsumedCapacity of each request
}

type shelfRequest struct {
	Key, Item              map[string]map[string]string
	ConditionExpression    string
	ReturnConsumedCapacity string
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var r shelfRequest
	var raw struct{ Item json.RawMessage }
	body, err := io.ReadAll(req.Body)
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	if err == nil {
		err = json.Unmarshal(body, &raw)
	}
	if err != nil {
		s.reply(w, 400, `{"__type":"com.amazon.coral.service#SerializationException"}`)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.ReturnConsumedCapacity)
	switch req.Header.Get("X-Amz-Target") {
	case "DynamoDB_20120810.PutItem":
		key := r.Item["pk"]["S"]
		old, exists := s.items[key]
		if exists && r.ConditionExpression != "" {
			s.reply(w, 400, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed","Item":%s}`, old))
			return
		}
		s.items[key] = raw.Item
		s.puts = append(s.puts, time.Now())
		s.reply(w, 200, `{"ConsumedCapacity":{"TableName":"t","CapacityUnits":3.0}}`)
	case "DynamoDB_20120810.GetItem":
		item, exists := s.items[r.Key["pk"]["S"]]
		if !exists {
			item = json.RawMessage(`null`)
		}
		s.reply(w, 200, fmt.Sprintf(`{"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5},"Item":%s}`, item))
	case "DynamoDB_20120810.TransactWriteItems":
		s.reply(w, 200, `{"ConsumedCapacity":[{"TableName":"t","CapacityUnits":4.0},{"TableName":"u","CapacityUnits":2.0}]}`)
	default:
		s.reply(w, 200, `{}`)
	}
}

func (s *shelf) reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(body))))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

func (s *shelf) putTimes() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.puts...)
}

// rig is a shelf, a network before it, and clients.
type rig struct {
	*shelf
	net *faultnet.Network
}

func newRig(cfg faultnet.Config) *rig {
	s := &shelf{items: map[string]json.RawMessage{}}
	return &rig{shelf: s, net: faultnet.New(s, cfg)}
}

// client makes a real SDK client whose n-th request meets fates[n]; later ones
// meet none.
func (r *rig) client(name string, fates ...fault.Fate) (*dynamodb.Client, *faultnet.Connection) {
	var mu sync.Mutex
	conn := r.net.Connect(name, func(faultnet.Request) fault.Fate {
		mu.Lock()
		defer mu.Unlock()
		if len(fates) == 0 {
			return fault.Fate{}
		}
		fate := fates[0]
		fates = fates[1:]
		return fate
	})
	return sdk(conn), conn
}

func sdk(transport http.RoundTripper) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       "eu-central-1",
		BaseEndpoint: aws.String("http://dynamodb.invalid"),
		HTTPClient:   &http.Client{Transport: transport},
		Credentials: aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	})
}

func put(key string, conditional bool) *dynamodb.PutItemInput {
	in := &dynamodb.PutItemInput{
		TableName: aws.String("t"),
		Item:      map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key}},
	}
	if conditional {
		in.ConditionExpression = aws.String("attribute_not_exists(pk)")
		in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return in
}

func get(key string) *dynamodb.GetItemInput {
	return &dynamodb.GetItemInput{
		TableName: aws.String("t"),
		Key:       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key}},
	}
}

// wantTally fails the test if the network counted anything else for op.
func (r *rig) wantTally(t *testing.T, op string, want faultnet.Tally) {
	t.Helper()
	if got := r.net.Counts("")[op]; got != want {
		t.Errorf("%s counted as %+v, want %+v\n%s", op, got, want, r.net.Log())
	}
}
