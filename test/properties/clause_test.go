package properties_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/testbed/av"
)

func number(s string) types.AttributeValue { return av.Num(s) }

func drawValue(t *rapid.T) types.AttributeValue {
	return rapid.OneOf(
		rapid.Map(rapid.String(), clause.String),
		rapid.Map(rapid.Int64(), clause.Int),
		rapid.Map(rapid.SampledFrom([]string{"", "1.5", "1E+3", "1E999999999", "-0", "NaN", "0x10", strings.Repeat("1", 500)}), number),
		rapid.SampledFrom([]types.AttributeValue{
			clause.Map(nil), clause.Map(clause.Item{"n": av.Num(1)}), &types.AttributeValueMemberNULL{}, &types.AttributeValueMemberBOOL{},
			&types.AttributeValueMemberL{}, &types.AttributeValueMemberB{}, &types.AttributeValueMemberSS{}, &types.AttributeValueMemberNS{},
			&types.AttributeValueMemberBS{}, &types.UnknownUnionMember{Tag: "X"},
		}),
	).Draw(t, "value")
}

// TestReaderProblems checks that a reader never panics and keeps the first problem.
func TestReaderProblems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item := clause.Item{}
		for _, name := range []string{"a", "b", "c"} {
			if rapid.Bool().Draw(t, "has "+name) {
				item[name] = drawValue(t)
			}
		}
		r := &clause.Reader{What: "row", Item: item, Path: "x."}
		var first error
		for range rapid.IntRange(1, 10).Draw(t, "reads") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "attribute")
			_, has := item[name]
			if r.Has(name) != has {
				t.Fatal("Has is wrong")
			}
			switch rapid.IntRange(0, 5).Draw(t, "as") {
			case 0:
				r.Int(name)
			case 1:
				r.Number(name)
			case 2:
				r.Text(name)
			case 3:
				r.Map(name)
			case 4:
				if _, ok := r.OptionalInt(name); ok != has {
					t.Fatal("an optional number is present or not")
				}
			case 5:
				if s := r.OptionalText(name); !has && s != "" {
					t.Fatal("text was conjured")
				}
			}
			if first == nil {
				first = r.Err
			}
			if r.Err != first {
				t.Fatalf("the first problem was %v, now it is %v", first, r.Err)
			}
		}
		if malformed, ok := errors.AsType[*clause.MalformedError](first); first != nil && (!ok || malformed.Item != "row" || !strings.HasPrefix(malformed.Attribute, "x.") || malformed.Problem == "") {
			t.Fatalf("got %v, want an error that names item and path", first)
		}
		if first != nil && len(first.Error()) > 400 {
			t.Fatalf("an error of %d bytes fills the log", len(first.Error()))
		}
	})
}
