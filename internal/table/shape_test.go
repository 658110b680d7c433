package table

import (
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"
)

// transfer is a shape with each kind of slot: a name in two paths, a value that occurs twice, and one that is left out.
type transfer struct {
	prefix string
	twice  bool
}

func (s transfer) Build(slots Slots) expression.Builder {
	path := expression.Name(s.prefix + "accounts").AppendName(expression.NameNoDotSplit(slots.Name))
	update := expression.Set(path, slots.Value(0)).Set(expression.Name("fee"), expression.Value(Int(7)))
	condition := path.LessThan(slots.Value(0))
	if s.twice {
		update, condition = update.Remove(expression.Name("open")), condition.And(path.Equal(slots.After(1).Value(0)))
	}
	return expression.NewBuilder().WithUpdate(update).WithCondition(condition)
}

// TestShape checks that a request of a shape is the one that would be built for it alone, whatever was sent before.
func TestShape(t *testing.T) {
	store := NewStore(nil, Layout{}, 0)
	value := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) types.AttributeValue { return String(s) }),
		rapid.Map(rapid.Int64Range(0, 3), func(n int64) types.AttributeValue { return Int(n) }),
		rapid.Map(rapid.String(), func(s string) types.AttributeValue { return Map(Item{s: String(s)}) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		shape := transfer{rapid.SampledFrom([]string{"", "lock_"}).Draw(t, "prefix"), rapid.Bool().Draw(t, "twice")}
		slots := Slots{
			Name:   rapid.StringMatching(`[a-z0-9.-]{12}`).Draw(t, "name"),
			Values: []types.AttributeValue{value.Draw(t, "first"), value.Draw(t, "second")},
		}
		got, want := store.Fill(shape, slots), Build(shape.Build(slots))
		if got.err != nil || want.err != nil {
			t.Fatal(got.err, want.err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}
