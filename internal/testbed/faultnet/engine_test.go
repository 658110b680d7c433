package faultnet_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// rig is a table "tab" with the key pk, a network before it, and clients.
type rig struct {
	net *faultnet.Network

	mu   sync.Mutex
	puts []time.Time // guarded by mu; when items were put
}

func newRig(cfg faultnet.Config) *rig {
	r := &rig{}
	engine := embedded.New(embedded.Config{Applied: func(*http.Request, []embedded.Change) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.puts = append(r.puts, time.Now())
	}})
	r.net = faultnet.New(engine, cfg)
	locktest.Must(faultnet.SDK(faultnet.New(engine, cfg).Connect("", nil)).CreateTable(context.Background(), &dynamodb.CreateTableInput{
		TableName: aws.String("tab"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
	}))
	return r
}

func (r *rig) putTimes() []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.puts
}

// client makes an SDK client whose n-th request meets fates[n]; later ones meet none.
func (r *rig) client(name string, fates ...fault.Fate) (*dynamodb.Client, *faultnet.Connection) {
	conn := r.net.Connect(name, func(faultnet.Request) (fate fault.Fate) {
		if len(fates) > 0 {
			fate, fates = fates[0], fates[1:]
		}
		return fate
	})
	return faultnet.SDK(conn), conn
}

func put(key string, conditional bool) *dynamodb.PutItemInput {
	in := &dynamodb.PutItemInput{TableName: aws.String("tab"), Item: av.Item{"pk": av.Str(key)}}
	if conditional {
		in.ConditionExpression = aws.String("attribute_not_exists(pk)")
		in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return in
}

// wantTally fails the test if the network counted anything else for op.
func (r *rig) wantTally(t *testing.T, op string, want faultnet.Tally) {
	t.Helper()
	if got := r.net.Counts("")[op]; got != want {
		t.Errorf("%s counted as %+v, want %+v\n%s", op, got, want, r.net.Log())
	}
}
