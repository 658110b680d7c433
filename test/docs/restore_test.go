package docs_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestRestore checks what docs/operations-table.md says of backups: a record that is restored issues tickets again, and
// in an empty table tickets are above the earlier ones, and saved handles are gone.
func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := func() time.Time { return time.Now().AddDate(27, 0, 0) } // after the beginning of 2026, as that of a bubble is not
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond), queuelocktest.WithClock(now))
		before, db := locktest.Open(t, table, "before", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, before, waitpolicy.NoWait))
		backup := table.Items()
		held := locktest.Acquire(t, before, waitpolicy.NoWait)
		handle, highest := held.Handle(), held.Ticket()
		locktest.Release(t, held)

		locktest.Write(t, table, backup...)
		again := locktest.Acquire(t, before, waitpolicy.NoWait)
		if again.Ticket() != highest {
			t.Errorf("after a restore the ticket is %s, want %s a second time", again.Ticket(), highest)
		}
		locktest.Release(t, again)

		time.Sleep(time.Minute)
		for _, item := range table.Items() {
			key := map[string]types.AttributeValue{"pk": item["pk"], "sk": item["sk"]}
			locktest.Must(db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(table.Name()), Key: key}))
		}
		after, _ := locktest.Open(t, table, "after", queuelock.Config{})
		if _, err := after.Resume(t.Context(), handle, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrGone) {
			t.Errorf("Resume in an empty table: %v, want ErrGone", err)
		}
		first := locktest.Acquire(t, after, waitpolicy.NoWait)
		if !highest.Less(first.Ticket()) {
			t.Errorf("the first ticket in an empty table is %s, after %s", first.Ticket(), highest)
		}
		locktest.Release(t, first)
	})
}
