package waiter

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/heartbeat"
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
		w.failure.set(errTimeout)
		w.Leave(t.Context())
		_ = w.Status() // for the race detector
		background.Wait()
		if at := w.wait.Snapshot.ReadAt; !at.IsZero() {
			t.Errorf("the snapshot of the wait is of %v", at)
		}
	})
}

func (applying) PutItem(context.Context, *dynamodb.PutItemInput, ...table.Option) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, nil
}

// DeleteItem takes a second.
func (applying) DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...table.Option) (*dynamodb.DeleteItemOutput, error) {
	time.Sleep(time.Second)
	return &dynamodb.DeleteItemOutput{}, nil
}

// TestRowOfAnEarlierTicket checks that Close waits for the delete of the row of a ticket that was given up, if the next one was
// granted at once.
func TestRowOfAnEarlierTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var background sync.WaitGroup
		w := newTestWaiter(t, Config{Background: func(f func()) { background.Go(f) }})
		w.cfg.Queue = table.NewStore(applying{}, table.Layout{Table: "t"}, TryLimit).Queue("e", "lock", nil)
		w.cfg.Row = heartbeat.Terms{TTL: time.Minute, Interval: 20 * time.Second, Margin: 6 * time.Second}
		w.wait.Ticket = n(7)
		if err := w.join(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.depart()
		w.turn, w.sight.turn = turn{}, sightOfTurn{} // of the next
		begun := time.Now()
		if _, err := w.end(&queue.Do{State: queue.Granted, Attempt: &queue.Attempt{}, Holder: &queue.Holder{}}); err != nil {
			t.Fatal(err)
		}
		background.Wait()
		if took := time.Since(begun); took != time.Second {
			t.Errorf("it waits %v for the delete, which takes a second", took)
		}
		w.Wait()
	})
}
