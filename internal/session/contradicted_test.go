package session

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
)

// contradicting refuses updates with an item that meets all of their conditions.
type contradicting struct {
	*queuelocktest.Client
	conditions atomic.Pointer[string] // a part of those that are refused; nil: none are
	refused    atomic.Int64
}

func (c *contradicting) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...table.Option) (*dynamodb.UpdateItemOutput, error) {
	if part := c.conditions.Load(); part == nil || !strings.Contains(*in.ConditionExpression, *part) {
		return c.Client.UpdateItem(ctx, in, opts...)
	}
	c.refused.Add(1)
	out, err := c.GetItem(ctx, &dynamodb.GetItemInput{TableName: in.TableName, Key: in.Key})
	if err != nil {
		return nil, err
	}
	return nil, &types.ConditionalCheckFailedException{Item: out.Item}
}

// contradict refuses from now on the updates whose conditions have that part.
func (w *world) contradict(part string) { w.contradicts.conditions.Store(&part) }

// TestContradicted checks that a refusal which nothing explains is an error, or makes the sender try another form. It is
// never repeated: that would have no end.
func TestContradicted(t *testing.T) {
	is := func(w *world, err error, refused int64) {
		w.Helper()
		if got := w.contradicts.refused.Load(); table.Contradicted(err) != (err != nil) || got != refused {
			w.Errorf("%v after %d refusals, want %d", err, got, refused)
		}
	}
	inWorld(t, "SetData", heartbeat.Terms{}, func(w *world) {
		w.contradict("")
		ctx, cancel := context.WithTimeout(w.Context(), 10*time.Second)
		defer cancel()
		err := w.session.SetData(ctx, []byte("x"))
		if err == nil || w.session.Err() != nil {
			w.Errorf("%v, and Err is %v", err, w.session.Err())
		}
		is(w, err, 1)
	})
	inWorld(t, "FastRelease", heartbeat.Terms{}, func(w *world) {
		w.contradict("size (") // in no condition of the hand-off
		err := w.session.Release(w.Context())
		if err != nil || w.session.State().Phase != queue.PhaseReleased {
			w.Errorf("%v, %+v", err, w.session.State())
		}
		is(w, err, 1)
		if rec, err := serving.Get(w.Context(), w.queue); err != nil || len(rec.Holders) != 0 || rec.Marks.Released.ID != "holder" {
			w.Errorf("%+v, %v", rec, err)
		}
	})
	inWorld(t, "EachRelease", heartbeat.Terms{}, func(w *world) {
		w.contradict("")
		begun := time.Now()
		err := w.session.Release(w.Context())
		if st := w.session.State(); err == nil || st.Phase != queue.PhaseReleasing || time.Since(begun) > time.Second {
			w.Errorf("%v, %+v after %v", err, st, time.Since(begun))
		}
		is(w, err, 2)
		w.contradicts.conditions.Store(nil)
		w.agree(w.session.Release(w.Context()))
	})
}
