package faults_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestEngineData checks that data is shown and set.
func TestEngineData(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		all := make([]byte, 4096)
		for i := range all {
			all[i] = byte(i)
		}
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.WithData(all))
		shown := func() []byte { return locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order)).Serving[0].Data }
		if !bytes.Equal(shown(), all) {
			t.Errorf("%d bytes are shown, want all 4096", len(shown()))
		}
		if err := lock.SetData(t.Context(), []byte("short")); err != nil || string(shown()) != "short" {
			t.Errorf("%q is shown, %v", shown(), err)
		}
		db.Inject(queuelocktest.LoseResponse().Mentioning("dataSet").Times(1))
		if err := lock.SetData(t.Context(), all[:100]); err != nil || !bytes.Equal(shown(), all[:100]) {
			t.Errorf("%q is shown, %v", shown(), err)
		}
		if err := lock.SetData(t.Context(), nil); err != nil || shown() != nil {
			t.Errorf("%q is shown, %v", shown(), err)
		}
		locktest.Must(db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(table.Name()), Key: locktest.RecordKey(), UpdateExpression: aws.String("SET holders = :none"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":none": &types.AttributeValueMemberM{}},
		}))
		if err := lock.SetData(t.Context(), []byte("late")); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("%v, want a loss", err)
		}
		if n := len(locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order)).Serving); n != 0 {
			t.Errorf("%d holders are in the record", n)
		}
	})
}
