package faults_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// copied is a client whose transport sends each TAKE twice: one is applied, and the answer is that of the other, which was
// throttled.
type copied struct {
	queuelock.DynamoDB
	answered func()
}

func (c copied) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := c.DynamoDB.UpdateItem(ctx, in, o...)
	if err != nil || !strings.Contains(*in.UpdateExpression, "if_not_exists") {
		return out, err
	}
	c.answered()
	answer := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusBadRequest}}
	return nil, &smithyhttp.ResponseError{Response: answer, Err: &types.ThrottlingException{}}
}

// TestThrottledCopy checks that a TAKE which was throttled counts as one that may have been applied: what it may have left is
// removed when the caller gives up.
func TestThrottledCopy(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		locktest.Acquire(t, b, waitpolicy.NoWait).Release(t.Context())
		ctx, giveUp := context.WithCancel(t.Context())
		a := newClient(t, copied{table.Client("a"), giveUp}, table.Name(), queuelock.Config{})
		if _, err := a.Acquire(ctx, locktest.Order, waitpolicy.Forever); err == nil {
			t.Fatal("granted after the caller had given up")
		}
		asked := time.Now()
		lock := locktest.Must(b.Acquire(t.Context(), locktest.Order, waitpolicy.For(2*time.Minute)))
		if w := time.Since(asked); w > time.Second {
			t.Errorf("the next lock took %v", w)
		}
		_ = lock.Release(t.Context())
	})
}
