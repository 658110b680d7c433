package queuelocktest_test

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

// putBoth puts two items in one transaction.
func putBoth(ctx context.Context, c *queuelocktest.Client) error {
	put := func(sk string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: aws.String("queuelock"), Item: key("e", sk)}}
	}
	_, err := c.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{put("a"), put("b")}, ClientRequestToken: aws.String("token"),
	})
	return err
}

// sorts are the sort keys of the items that are visible.
func sorts(table *queuelocktest.Table) string {
	all := ""
	for _, it := range table.Items() {
		all += it["sk"].(*types.AttributeValueMemberS).Value
	}
	return all
}

// appearances are the instants at which items become visible during putBoth, and that of its answer, in milliseconds.
func appearances(t *testing.T, table *queuelocktest.Table, c *queuelocktest.Client) (seen []string, at []int64) {
	start, done := time.Now(), make(chan error)
	go func() { done <- putBoth(t.Context(), c) }()
	for {
		synctest.Wait()
		if now := sorts(table); now != "" && (len(seen) == 0 || seen[len(seen)-1] != now) {
			seen, at = append(seen, now), append(at, time.Since(start).Milliseconds())
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return seen, append(at, time.Since(start).Milliseconds())
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

// TestSplitTransactionFaults checks when each item of a split transaction is visible, and when its client is answered.
func TestSplitTransactionFaults(t *testing.T) {
	same := func(t *testing.T, want, got any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	}

	locktest.InTable(t, "EachItemHasItsDelay", func(t *testing.T, table *queuelocktest.Table) {
		alice := table.Client("alice")
		injection := alice.Inject(queuelocktest.SplitTransaction(20*time.Millisecond, 10*time.Millisecond))
		seen, at := appearances(t, table, alice)
		same(t, []string{"b", "ab"}, seen)
		same(t, []int64{10, 20, 20}, at)
		locktest.Check(t, put(t, alice, "e", "c"))
		same(t, 1, injection.Fired()) // it splits nothing but transactions
	})

	locktest.InTable(t, "ItemWithoutDelayIsVisibleAtOnce", func(t *testing.T, table *queuelocktest.Table) {
		alice := table.Client("alice")
		alice.Inject(queuelocktest.SplitTransaction(5 * time.Millisecond))
		seen, at := appearances(t, table, alice)
		same(t, []string{"b", "ab"}, seen)
		same(t, []int64{0, 5, 5}, at)
	})

	locktest.InBubble(t, "SeedChoosesTheDelays", func(t *testing.T) {
		at := func(seed uint64) []int64 {
			table := queuelocktest.NewTable(t)
			alice := table.Client("alice")
			alice.Inject(queuelocktest.SplitTransactions(time.Second, seed))
			_, at := appearances(t, table, alice)
			if last := at[len(at)-1]; last > 1001 {
				t.Errorf("the window is a second, and the answer came after %d ms", last)
			}
			return at
		}
		first := at(1)
		same(t, first, at(1))
		if reflect.DeepEqual(first, at(2)) {
			t.Errorf("two seeds both gave %v", first)
		}
	})

	locktest.InTable(t, "CommitsWithoutItsClient", func(t *testing.T, table *queuelocktest.Table) {
		alice := table.Client("alice", once)
		alice.Inject(queuelocktest.SplitTransaction(time.Second, time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		locktest.Is(t, putBoth(ctx, alice), context.DeadlineExceeded)
		same(t, time.Minute, time.Since(start))
		same(t, "a", sorts(table))
		locktest.OK(t, table.Settle(t.Context()))
		same(t, time.Hour, time.Since(start))
		same(t, "ab", sorts(table))
	})

	locktest.InBubble(t, "OptionActsBesideOtherFaults", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithSplitTransactions(time.Second, 1, 1))
		alice := table.Client("alice", once)
		alice.Inject(queuelocktest.LoseResponse())
		start := time.Now()
		if err := putBoth(t.Context(), alice); err == nil {
			t.Error("the response was not lost")
		}
		if took := time.Since(start); took < time.Second || took > 6*time.Second {
			t.Errorf("a late transaction took %v", took)
		}
		same(t, "ab", sorts(table))
	})
}
