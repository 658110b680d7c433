package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// "ReturnValues", in API_UpdateItem.html, API_PutItem.html and API_DeleteItem.html.
func TestReturns(t *testing.T) {
	onEveryEngine(t, func(s *suite) {
		s.check("UpdateReturnsTheFiveKindsOfValues", func(c *check) {
			before := item{"a": n(1), "b": n(2), "gone": n(3)}
			for _, tc := range []struct {
				returns types.ReturnValue
				want    item
			}{
				{"", nil},
				{types.ReturnValueNone, nil},
				{types.ReturnValueAllOld, c.with("x", before)},
				{types.ReturnValueAllNew, c.with("x", item{"a": n(5), "b": n(2), "new": n(5)})},
				{types.ReturnValueUpdatedOld, item{"a": n(1), "gone": n(3)}},
				{types.ReturnValueUpdatedNew, item{"a": n(5), "new": n(5)}},
			} {
				c.given("x", before)
				got := c.answer(c.update("x", op{
					update: "SET a = :v, #new = :v REMOVE gone", names: map[string]string{"#new": "new"},
					values: item{":v": n(5)}, returns: tc.returns,
				}))
				c.same(string(tc.returns), got, tc.want)
			}
		})

		s.check("UpdatedValuesOfANestedPathAreThatPathAlone", func(c *check) {
			c.given("x", item{"m": object(item{"k": n(1), "other": n(2)})})
			got := c.answer(c.update("x", op{
				update: "SET m.k = m.k + :one", values: item{":one": n(1)}, returns: types.ReturnValueUpdatedNew,
			}))
			c.same("the updated values", got, item{"m": object(item{"k": n(2)})})
		})

		// API_UpdateItem.html: "only the updated attributes". The shapes are those of test_update_item_returnvalues_nested
		// in scylladb/scylladb (test/alternator/test_returnvalues.py), whose authors compare their tests with the service.
		s.check("UpdatedValuesOfListElementsAreThoseIndexesOfTheList", func(c *check) {
			for _, tc := range []struct {
				update   string
				old, new value // nil for no attributes
			}{
				{"SET l[1] = :v", list(n(1)), list(n(9))},
				{"SET l[2] = :v, l[0] = :v", list(n(0), n(2)), list(n(9), n(9))}, // packed, in ascending order
				{"SET l[3] = :v", nil, list(n(9))},
				{"SET l[8] = :v", nil, nil},             // the new list has no index 8
				{"REMOVE l[1]", list(n(1)), list(n(2))}, // what moved to index 1
				{"REMOVE l[2]", list(n(2)), nil},
				{"REMOVE l[0], l[7]", list(n(0)), list(n(1))},
				{"ADD l[1] :v", list(n(1)), list(n(10))},
			} {
				for returns, want := range map[types.ReturnValue]value{types.ReturnValueUpdatedOld: tc.old, types.ReturnValueUpdatedNew: tc.new} {
					c.given("x", item{"l": list(n(0), n(1), n(2)), "other": n(1)})
					got := c.answer(c.update("x", op{update: tc.update, values: used(tc.update, item{":v": n(9)}), returns: returns}))
					if want == nil {
						c.same(tc.update+": "+string(returns), len(got), 0)
						continue
					}
					c.same(tc.update+": "+string(returns), got, item{"l": want})
				}
			}
		})

		s.check("UpdateOfNothingReturnsNoOldValues", func(c *check) {
			for _, returns := range []types.ReturnValue{types.ReturnValueAllOld, types.ReturnValueUpdatedOld} {
				got := c.answer(c.update(string(returns), op{update: "SET a = :v", values: item{":v": n(1)}, returns: returns}))
				if len(got) != 0 {
					c.Errorf("%s: got %v", returns, got)
				}
			}
		})

		s.check("PutAndDeleteReturnTheOldItemOrNothing", func(c *check) {
			old := op{returns: types.ReturnValueAllOld}
			c.same("of the first put", len(c.answer(c.put("x", item{"a": n(1)}, old))), 0)
			c.same("of the second put", c.answer(c.put("x", item{"a": n(2)}, old)), c.with("x", item{"a": n(1)}))
			c.same("of a put that does not ask", len(c.answer(c.put("x", item{"a": n(3)}, op{}))), 0)
			c.same("of the delete", c.answer(c.delete("x", old)), c.with("x", item{"a": n(3)}))
			c.same("of the second delete", len(c.answer(c.delete("x", old))), 0)
		})

		s.check("PutAndDeleteRefuseTheOtherKinds", func(c *check) {
			c.invalid(errorOf(c.put("x", item{}, op{returns: types.ReturnValueAllNew})))
			c.invalid(errorOf(c.delete("x", op{returns: types.ReturnValueUpdatedNew})))
		})
	})
}
