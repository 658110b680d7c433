// Package writetest compares conditional writes, as values, with what a table does with them.
package writetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

// Suite are writes of one kind of item.
type Suite struct {
	Names clause.Names
	// Write draws a write, Item an item that some of its writes apply to. Keys are left out.
	Write map[string]func(*rand.Rand) clause.Write
	Item  func(*rand.Rand) clause.Item
	// Implied are the conditions, as "WRITE: condition", that decide no item alone, and why.
	Implied map[string]string
}

// draws bounds the search for an item that a write applies to, or that one condition decides alone. The rarest is found in one
// of some 30,000 draws.
const draws = 400_000

// Run checks of each write: that the table applies it exactly if Apply does, with the same result, and that each named
// condition decides the fate of an item alone, so that it could not be left out unseen. Of a write that may be
// repeated Freely it checks that a second application is refused or changes nothing, and of all that such a refusal is not
// taken for a loss.
func (s Suite) Run(t *testing.T) {
	table := queuelocktest.NewTable(t)
	db := table.Client("writetest")
	count := 0
	compare := func(t *testing.T, w clause.Write, item clause.Item, want clause.Fate) {
		t.Helper()
		count++
		if fate := Compare(t, table, db, fmt.Sprint(count), w, s.Names, item); fate != want {
			t.Fatalf("fate %d, want %d", fate, want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Write)) {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, uint64(len(name))))
			// find draws until the write has another fate without the condition. "": until it applies.
			find := func(condition string, draws int) bool {
				for range draws {
					w, item := s.Write[name](rnd), s.item(rnd)
					_, fate := w.Apply(s.Names, item)
					less, found := w.Without(condition)
					_, without := less.Apply(s.Names, item)
					if condition == "" && fate == clause.Applied || found && fate != without {
						compare(t, w, item, fate)
						return true
					}
				}
				return false
			}
			for range 20 {
				if !find("", draws) {
					t.Fatal("no item was drawn that it applies to")
				}
			}
			var conditions []string
			for range 50 { // some writes have conditions that others of their kind do not have
				conditions = append(conditions, s.Write[name](rnd).Conditions()...)
			}
			slices.Sort(conditions)
			for _, c := range slices.Compact(conditions) {
				why, draws := s.Implied[name+": "+c], draws
				if why != "" {
					draws /= 40
				}
				if find(c, draws) != (why == "") {
					t.Errorf("condition %q decides alone: %v (%s)", c, why != "", why)
				}
			}
			for range 50 {
				w, item := s.Write[name](rnd), s.item(rnd)
				_, fate := w.Apply(s.Names, item)
				compare(t, w, item, fate)
			}
			for range locktest.Scaled(draws/40, draws/400) {
				w := s.Write[name](rnd)
				once, fate := w.Apply(s.Names, s.item(rnd))
				if fate != clause.Applied {
					continue
				}
				twice, fate := w.Apply(s.Names, once)
				diff := Diff(beatless(once), beatless(twice))
				switch {
				case w.Repeat == clause.Freely && diff != "":
					t.Fatalf("%s is not to be repeated freely: a second application changes (-once +twice):\n%s", w.Name, diff)
				case fate == clause.Refused && w.Refused(s.Names, once) == clause.Lost:
					t.Fatalf("%s takes what it has made for a loss: %v", w.Name, once)
				}
			}
		})
	}
}

// Compare sends a write of an item, or of none, to a table, under a key of its own. What becomes of the write and of the
// item must be what Apply says. It returns the fate.
func Compare(t *testing.T, table *queuelocktest.Table, db *queuelocktest.Client, pk string, w clause.Write, n clause.Names, item clause.Item) clause.Fate {
	t.Helper()
	key := clause.Item{"pk": av.Str(pk), "sk": av.Str("x")}
	with := func(item clause.Item) clause.Item {
		if item == nil {
			return nil
		}
		return av.With(item, key)
	}
	before := with(item)
	after, fate := w.Apply(n, before)
	if fate == clause.Applied {
		after = with(after)
	}
	if before != nil {
		_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: before})
		locktest.OK(t, err)
	}
	if got := Send(t, db, table.Name(), key, w, n); got != fate {
		t.Errorf("%v: fate %d, and at the table %d\n%v", w.Name, fate, got, before)
	}
	out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(table.Name()), Key: key, ConsistentRead: aws.Bool(true)})
	locktest.OK(t, err)
	if diff := Diff(after, out.Item); diff != "" {
		t.Errorf("%s of %v left another item (-Apply +table):\n%s", w.Name, before, diff)
	}
	return fate
}

// beatless returns the item without beats, at any depth. That one counts twice is harmless.
func beatless(item clause.Item) clause.Item { return av.Strip(item, "beat") }

// item draws an item, with a key; nil: none.
func (s Suite) item(rnd *rand.Rand) clause.Item {
	if rnd.IntN(20) == 0 {
		return nil
	}
	item := s.Item(rnd)
	item["pk"] = av.Str("drawn")
	return item
}

// Diff compares items as DynamoDB does, and no item is like an empty one. Without a difference it returns "".
func Diff(want, got clause.Item) string {
	was, is := locktest.PlainItem(want), locktest.PlainItem(got)
	if was == is {
		return ""
	}
	return "-" + was + "\n+" + is
}

// Send sends a write as its expressions say, and returns what became of it.
func Send(t *testing.T, db *queuelocktest.Client, table string, key clause.Item, w clause.Write, n clause.Names) clause.Fate {
	t.Helper()
	e, err := w.Builder(n).Build()
	locktest.OK(t, err)
	switch w.Kind {
	case clause.Put:
		_, err = db.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: &table, Item: av.With(w.Item, key), ConditionExpression: e.Condition(),
			ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		})
	case clause.Delete:
		_, err = db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: &table, Key: key, ConditionExpression: e.Condition(),
			ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		})
	case clause.Check:
		check := &types.ConditionCheck{
			TableName: &table, Key: key, ConditionExpression: e.Condition(),
			ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		}
		_, err = db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{ConditionCheck: check}}})
	default:
		_, err = db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &table, Key: key, UpdateExpression: e.Update(), ConditionExpression: e.Condition(),
			ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		})
	}
	_, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
	_, cancelled := errors.AsType[*types.TransactionCanceledException](err)
	switch {
	case refused || cancelled:
		return clause.Refused
	case err != nil:
		return clause.Invalid
	}
	return clause.Applied
}
