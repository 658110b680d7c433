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

// newDatedTable makes a table whose time is after the beginning of 2026, as that of a bubble
// is not.
func newDatedTable(t *testing.T) *queuelocktest.Table {
	now := func() time.Time { return time.Now().AddDate(27, 0, 0) }
	return queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond), queuelocktest.WithClock(now))
}

// TestRestore checks what docs/operations-table.md says of backups. A record that is
// restored issues tickets again. In an empty table tickets are above the earlier ones, and
// saved handles are gone.
func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newDatedTable(t)
		before, db := locktest.Open(t, table, "before", queuelock.Config{})
		write := func(item map[string]types.AttributeValue) {
			locktest.Must(db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}))
		}
		release(t, acquire(t, before, order, waitpolicy.NoWait))
		backup := table.Items()
		held := acquire(t, before, order, waitpolicy.NoWait)
		handle, highest := held.Handle(), held.Ticket()
		release(t, held)

		for _, item := range backup {
			write(item)
		}
		again := acquire(t, before, order, waitpolicy.NoWait)
		if again.Ticket() != highest {
			t.Errorf("after a restore the ticket is %s, want %s a second time", again.Ticket(), highest)
		}
		release(t, again)

		time.Sleep(time.Minute)
		for _, item := range table.Items() {
			key := map[string]types.AttributeValue{"pk": item["pk"], "sk": item["sk"]}
			locktest.Must(db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(table.Name()), Key: key}))
		}
		after, _ := locktest.Open(t, table, "after", queuelock.Config{})
		if _, err := after.Resume(t.Context(), handle, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrGone) {
			t.Errorf("Resume in an empty table: %v, want ErrGone", err)
		}
		first := acquire(t, after, order, waitpolicy.NoWait)
		if !highest.Less(first.Ticket()) {
			t.Errorf("the first ticket in an empty table is %s, after %s", first.Ticket(), highest)
		}
		release(t, first)
	})
}

// TestRestoredItem checks the same of an item with a lock on it, without whose attributes
// tickets are above the earlier ones.
func TestRestoredItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newDatedTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		key := newOrder(t, table)
		lock := lockItem(t, c, key)
		highest := lock.Ticket()
		release(t, lock)
		time.Sleep(time.Minute)
		whole := map[string]types.AttributeValue{"id": text("order-7"), "amount": number("100")}
		locktest.Must(db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &key.Table, Item: whole}))
		lock = lockItem(t, c, key)
		if !highest.Less(lock.Ticket()) {
			t.Errorf("the ticket of an item without attributes is %s, after %s", lock.Ticket(), highest)
		}
		release(t, lock)
	})
}
