package conformance

import (
	"errors"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Expressions.OperatorsAndFunctions.html in the developer guide.
func TestConditions(t *testing.T) {
	onEveryEngine(t, func(s *suite) {
		s.check("ComparisonsFunctionsAndConnectivesMeanWhatTheySay", func(c *check) {
			c.given("x", item{
				"one": n(1), "two": n(2), "word": str("hello"), "yes": boolean(true), "nothing": null(),
				"list": list(n(1), str("b"), object(item{"k": n(7)})), "map": object(item{"k": str("v"), "deep": object(item{"n": n(3)})}),
				"bare": object(item{}), "set": strs("a", "b"), "bytes": binary("abc"), "clef": str("é𝄞"),
			})
			for _, tc := range []struct {
				condition string
				want      bool
			}{
				{"one = :one", true},
				{"one = :two", false},
				{"one <> :two", true},
				{"one < two", true},
				{"two < one", false},
				{"one <= :one", true},
				{"two > :one", true},
				{"one >= :two", false},
				{"one BETWEEN :one AND :two", true},
				{"two BETWEEN :one AND :one", false},
				{"word BETWEEN :he AND :hi", true},
				{"one IN (:two, :one)", true},
				{"one IN (:two)", false},
				{"word < :hi", true},
				{"bytes = :abc", true},
				{"yes = :yes", true},
				{"#map = :map", true},
				{"#set = :ba", true}, // sets have no order
				{"#set = :few", false},
				{"#list = :list", true},
				{"#list = :moved", false},

				// Of different types: never less, never equal.
				{"one < :hi", false},
				{"one > :hi", false},
				{"one = :hi", false},
				{"one <> :hi", true},

				// What is not there compares with nothing, and so differs from everything.
				{"absent = :one", false},
				{"absent < :one", false},
				{"absent >= :one", false},
				{"absent <> :one", true},
				{"absent BETWEEN :one AND :two", false},
				{"absent IN (:one)", false},
				{"#map.absent.further = :one", false},
				{"one.k = :one", false},

				{"attribute_exists(one)", true},
				{"attribute_exists(nothing)", true},
				{"attribute_exists(absent)", false},
				{"attribute_not_exists(absent)", true},
				{"attribute_not_exists(one)", false},
				{"attribute_exists(#map.deep.n)", true},
				{"attribute_exists(#map.deep.x)", false},
				{"attribute_not_exists(absent.deeper)", true},
				{"attribute_exists(#list[2].k)", true},
				{"attribute_exists(#list[3])", false},
				{"attribute_type(word, :S)", true},
				{"attribute_type(one, :S)", false},
				{"begins_with(word, :he)", true},
				{"begins_with(word, :hi)", false},
				{"contains(word, :ell)", true},
				{"contains(#set, :b)", true},
				{"contains(#set, :ell)", false},
				{"contains(#list, :b)", true},
				{"size(#map) = :two", true},
				{"size(#list) > :two", true},
				{"size(#set) = :two", true},
				{"size(bare) = :zero", true},
				{"size(word) = :five", true},
				{"size(bytes) = :three", true},
				{"size(absent) = :zero", false},
				{"size(#map.deep) = :one", true},
				{"size(clef) = :three", true}, // in UTF-16 code units

				// NOT binds tighter than AND, and AND tighter than OR.
				{"one = :one OR one = :two AND one = :two", true},
				{"(one = :one OR one = :two) AND one = :two", false},
				{"NOT one = :two AND one = :one", true},
				{"NOT (one = :one AND two = :two)", false},
				{"NOT one = :one OR two = :two", true},
				{"one = :one and not two = :one or absent = :one", true}, // keywords in any case
			} {
				_, err := c.update("x", op{
					update: "SET touched = :touched", condition: tc.condition,
					names: used(tc.condition, map[string]string{"#map": "map", "#list": "list", "#set": "set"}),
					values: used(tc.condition+" :touched ", item{
						":zero": n(0), ":one": n(1), ":two": n(2), ":three": n(3), ":five": n(5), ":touched": n(1),
						":he": str("he"), ":hi": str("hi"), ":ell": str("ell"), ":b": str("b"), ":S": str("S"), ":yes": boolean(true),
						":abc": binary("abc"), ":ba": strs("b", "a"), ":few": strs("a"),
						":list": list(n(1), str("b"), object(item{"k": n(7)})), ":moved": list(str("b"), n(1), object(item{"k": n(7)})),
						":map": object(item{"deep": object(item{"n": n(3)}), "k": str("v")}),
					}),
				})
				var failed *types.ConditionalCheckFailedException
				if err != nil && !errors.As(err, &failed) {
					c.Errorf("%s: %v", tc.condition, err)
				} else if got := err == nil; got != tc.want {
					c.Errorf("%s: got %v, want %v", tc.condition, got, tc.want)
				}
			}
		})

		s.check("AFailedConditionLeavesTheItemAsItWas", func(c *check) {
			was := item{"a": n(1), "m": object(item{"k": n(1)})}
			c.given("x", was)
			c.refusedByCondition(errorOf(c.put("x", item{"b": n(2)}, op{condition: "attribute_not_exists(pk)"})))
			_, err := c.update("x", op{update: "SET m.k = :v REMOVE a", condition: "a > :v", values: item{":v": n(5)}})
			c.refusedByCondition(err)
			c.refusedByCondition(errorOf(c.delete("x", op{condition: "attribute_not_exists(a)"})))
			c.holds("x", was)
		})

		s.check("AFailedConditionOnNothingCreatesNothing", func(c *check) {
			c.refusedByCondition(errorOf(c.put("x", item{}, op{condition: "attribute_exists(pk)"})))
			_, err := c.update("x", op{update: "SET a = :v", condition: "attribute_exists(pk)", values: item{":v": n(1)}})
			c.refusedByCondition(err)
			c.refusedByCondition(errorOf(c.delete("x", op{condition: "attribute_exists(pk)"})))
			c.holds("x", nil)
		})

		// "ReturnValuesOnConditionCheckFailure", in API_PutItem.html, API_UpdateItem.html and API_DeleteItem.html.
		s.check("AllOldReturnsTheItemThatRefused", func(c *check) {
			was := item{"a": n(1), "m": object(item{"k": str("v")})}
			c.given("x", was)
			for name, err := range refuseEach(c, "attribute_not_exists(pk)", true) {
				if got := c.refusedByCondition(err); len(got) == 0 {
					c.Errorf("%s: no item was returned", name)
				} else {
					c.same(name, got, c.with("x", was))
				}
			}
		})

		s.check("AllOldReturnsNoItemWhereNoneIs", func(c *check) {
			for name, err := range refuseEach(c, "attribute_exists(pk)", true) {
				if got := c.refusedByCondition(err); len(got) != 0 {
					c.Errorf("%s: got %v", name, got)
				}
			}
		})

		s.check("WithoutAllOldNoItemIsReturned", func(c *check) {
			c.given("x", item{"a": n(1)})
			for name, err := range refuseEach(c, "attribute_not_exists(pk)", false) {
				if got := c.refusedByCondition(err); len(got) != 0 {
					c.Errorf("%s: got %v", name, got)
				}
			}
		})

		s.check("TheMessageOfAFailedConditionIsTheKnownOne", func(c *check) {
			err := errorOf(c.delete("x", op{condition: "attribute_exists(pk)"}))
			c.refusedByCondition(err)
			var failed *types.ConditionalCheckFailedException
			_ = errors.As(err, &failed)
			c.same("the message", failed.ErrorMessage(), "The conditional request failed")
		})

		s.check("WritesWithoutAConditionNeedNoItem", func(c *check) {
			c.must(errorOf(c.delete("x", op{})))
			c.must(errorOf(c.put("x", item{"a": n(1)}, op{})))
			c.must(errorOf(c.put("x", item{"b": n(2)}, op{})))
			c.holds("x", item{"b": n(2)}) // a put replaces, it does not merge
		})
	})
}

// refuseEach sends a put, an update and a delete that the condition refuses.
func refuseEach(c *check, condition string, failedItem bool) map[string]error {
	o := op{condition: condition, failedItem: failedItem}
	_, put := c.put("x", item{"b": n(9)}, o)
	_, del := c.delete("x", o)
	o.update, o.values = "SET b = :v", item{":v": n(9)}
	_, update := c.update("x", o)
	return map[string]error{"put": put, "update": update, "delete": del}
}

// used returns the placeholders that occur in the text: DynamoDB refuses those that do not.
func used[V any](text string, all map[string]V) map[string]V {
	some := map[string]V{}
	for name, v := range all {
		if regexp.MustCompile(name + `\b`).MatchString(text) {
			some[name] = v
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some
}
