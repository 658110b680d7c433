package waiter

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// applying is a table that applies each update, to an empty record.
type applying struct{ table.DynamoDB }

func (applying) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...table.Option) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{}, nil
}

// TestLeaveInTheBackground checks that a caller which has its error meanwhile reads nothing that the removal of what was left
// changes.
func TestLeaveInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var background sync.WaitGroup
		w := newTestWaiter(t, Config{NoWait: true, Background: func(f func()) { background.Go(f) }})
		w.cfg.Queue = table.NewStore(applying{}, table.Layout{Table: "t"}, TryLimit).Queue("e", "lock", nil)
		w.step(queue.Begin{})
		w.step(queue.Replied{Reply: queue.ReplyUnknown})
		w.failure = errTimeout
		w.Leave(t.Context())
		_ = w.Status() // for the race detector
		background.Wait()
		if at := w.wait.Snapshot.ReadAt; !at.IsZero() {
			t.Errorf("the snapshot of the wait is of %v", at)
		}
	})
}
