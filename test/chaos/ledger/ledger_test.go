package ledger

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/engines"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(engines.Main(m)) }

// TestLedger checks that a ledger shows all writes, including those that break its rules.
func TestLedger(t *testing.T) {
	engines.Each(t, func(t *testing.T, e engines.Engine) {
		db, l := e.Client(t), Ledger{Table: "ledger-test", Entity: "e"}
		if err := queuelock.CreateTable(t.Context(), db, l.Table, queuelock.Config{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = db.DeleteTable(context.WithoutCancel(t.Context()), &dynamodb.DeleteTableInput{TableName: &l.Table})
		})
		write := func(items []types.TransactWriteItem) {
			t.Helper()
			if _, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: items}); err != nil {
				t.Fatal(err)
			}
		}
		read := func() Head {
			t.Helper()
			head, err := l.Read(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			return head
		}
		if head := read(); head != (Head{}) {
			t.Errorf("at the beginning: %+v", head)
		}
		write(l.Turn("one", read(), 3, "anne"))
		old := read()
		write(l.Turn("two", old, 5, "bert"))
		write(l.Turn("late", old, 4, "cleo")) // had read what bert had read
		write(l.Probe("poke", 5, "bert"))
		write(l.Probe("poke", 5, "bert")) // a repetition
		write(Ledger{l.Table, "other"}.Turn("three", Head{}, 1, "dora"))

		got, err := l.ReadAll(t.Context(), db)
		want := Contents{Head: Head{N: 2, Token: 4, Writes: 3}, Rows: []Row{
			{ID: "poke", Probe: true, Token: 5, Worker: "bert", Times: 2},
			{ID: "late", Seq: 2, Token: 4, After: 3, Worker: "cleo", Times: 1},
			{ID: "one", Seq: 1, Token: 3, Worker: "anne", Times: 1},
			{ID: "two", Seq: 2, Token: 5, After: 3, Worker: "bert", Times: 1},
		}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}
