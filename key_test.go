package queuelock_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Any key is either refused before a request is sent, or locks the one item
// that it names, and no two keys name the same.
func FuzzKeyNamesItsOwnRecordOrIsRefused(f *testing.F) {
	for _, seed := range [][2]string{
		{"order-7", ""}, {"order-7", "lock"}, {"", "lock"}, {"a", "b/c"}, {"a/b", "c"}, {"\x00", "\x00"}, {"ä", "\xff"},
		{strings.Repeat("x", 2048), strings.Repeat("y", 985)}, {strings.Repeat("x", 2049), ""}, {"a", strings.Repeat("y", 986)},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, entity, reason string) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "a", queuelock.Config{})
		key := queuelock.Key{Entity: entity, Reason: reason}
		lock, err := c.Acquire(t.Context(), key, waitpolicy.NoWait)
		if err != nil {
			if n := db.Counts().Total().Sent; n != 0 {
				t.Fatalf("%v, after %d requests: what is refused must be refused before", err, n)
			}
			if strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("error %q is not one printable line", err)
			}
			return
		}
		other, err := c.Acquire(t.Context(), queuelock.Key{Entity: entity, Reason: lock.Key().Reason + "2"}, waitpolicy.NoWait)
		if err == nil {
			release(t, other)
		}
		items := table.Items()
		sk := lock.Key().Reason + "/" + strings.Repeat("0", 38)
		found := false
		for _, item := range items {
			pk, sort := item["pk"].(*types.AttributeValueMemberS), item["sk"].(*types.AttributeValueMemberS)
			found = found || pk.Value == entity && sort.Value == sk
		}
		if !found {
			t.Errorf("no item %q %q among %v", entity, sk, items)
		}
		release(t, lock)
	})
}
