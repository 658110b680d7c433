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

// TestThrottledCopy checks that a TAKE which was throttled counts as one that may have been applied, as a transport may send
// it twice: what it may have left is removed when the caller gives up.
func TestThrottledCopy(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.NoWait))
		ctx, giveUp := context.WithCancel(t.Context())
		a := newClient(t, around(table, "a", func(_ string, in any, send func() error) error {
			err := send()
			if u, ok := in.(*dynamodb.UpdateItemInput); err != nil || !ok || !strings.Contains(*u.UpdateExpression, "if_not_exists") {
				return err
			}
			giveUp()
			answer := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusBadRequest}}
			return &smithyhttp.ResponseError{Response: answer, Err: &types.ThrottlingException{}}
		}), table.Name(), queuelock.Config{})
		if _, err := a.Acquire(ctx, locktest.Order, waitpolicy.Forever); err == nil {
			t.Fatal("granted after the caller had given up")
		}
		asked := time.Now()
		lock := locktest.Acquire(t, b, waitpolicy.For(2*time.Minute))
		if w := time.Since(asked); w > time.Second {
			t.Errorf("the next lock took %v", w)
		}
		locktest.Release(t, lock)
	})
}
