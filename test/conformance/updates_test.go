package conformance

import "testing"

// Expressions.UpdateExpressions.html in the developer guide: "DynamoDB evaluates every action against the item's
// attribute values as they were before the update."
func TestUpdates(t *testing.T) {
	const (
		badPath = "The document path provided in the update expression is invalid for update"
		absent  = "The provided expression refers to an attribute that does not exist in the item"
	)
	one := item{":one": n(1)}

	onEveryEngine(t, func(s *suite) {
		makes := func(property string, was item, o op, is item) {
			s.check(property, func(c *check) { c.makes(was, o, is) })
		}

		makes("EveryActionReadsTheItemAsItWas",
			item{"a": n(1), "b": n(2), "c": n(3)}, op{update: "SET a = b, b = a, d = c REMOVE c"},
			item{"a": n(2), "b": n(1), "d": n(3)})

		makes("EveryOperandReadsTheItemAsItWas", item{"a": n(2), "b": n(1)}, op{
			update: "SET a = a + :one, added = a + b, e = if_not_exists(fresh, :one), fresh = :two",
			values: item{":one": n(1), ":two": n(2)},
		}, item{"a": n(3), "b": n(1), "added": n(3), "e": n(1), "fresh": n(2)})

		s.check("ValuesThatAnActionWouldCreateCannotBeReadByAnother", func(c *check) {
			c.given("x", item{})
			c.invalid(errorOf(c.update("x", op{update: "SET a = :one, b = a", values: one})), absent)
			c.holds("x", item{})
		})

		s.check("UpdateCreatesTheItemThatIsNotThere", func(c *check) {
			c.must(errorOf(c.update("x", op{update: "SET a = :one", values: one})))
			c.holds("x", item{"a": n(1)})
			c.must(errorOf(c.update("y", op{})))
			c.holds("y", item{})
		})

		makes("IfNotExistsChoosesThePathOrTheOperand", item{"a": n(5), "m": object(item{"k": n(7)})}, op{
			update: "SET a = if_not_exists(a, :one), b = if_not_exists(b, :one), " +
				"c1 = if_not_exists(c1, a), d = if_not_exists(d, :one) + :one, e = if_not_exists(m.k, :one), f = if_not_exists(m.z, :one)",
			values: one,
		}, item{"a": n(5), "b": n(1), "c1": n(5), "d": n(2), "e": n(7), "f": n(1), "m": object(item{"k": n(7)})})

		makes("NestedPathsAreSetAndRemovedInPlace", item{"m": object(item{"k": n(1), "deep": object(item{"k": n(2), "l": n(3)})})}, op{
			update: "SET m.k = m.k + :one, m.fresh = :one, m.deep.k = m.k REMOVE m.deep.l, m.absent", values: one,
		}, item{"m": object(item{"k": n(2), "fresh": n(1), "deep": object(item{"k": n(1)})})})

		makes("RemovingTheLastKeyLeavesAnEmptyMap",
			item{"m": object(item{"k": n(1)})}, op{update: "REMOVE m.k"}, item{"m": object(item{})})

		makes("AKeyWithDotsIsOneNameNotAPath", item{"m": object(item{})}, op{
			update: "SET m.#k = :one", names: map[string]string{"#k": "a.b[0]"}, values: one,
		}, item{"m": object(item{"a.b[0]": n(1)})})

		s.check("SettingBelowWhatIsNotAMapIsRefused", func(c *check) {
			c.given("x", item{"word": str("t")})
			for _, update := range []string{"SET absent.k = :one", "SET word.k = :one"} {
				c.invalid(errorOf(c.update("x", op{update: update, values: one})), badPath)
			}
			c.invalid(errorOf(c.update("none", op{update: "SET absent.k = :one", values: one})), badPath)
			c.holds("none", nil)
		})

		s.check("RemovingBelowWhatIsNotThereIsRefused", func(c *check) {
			c.given("x", item{})
			c.invalid(errorOf(c.update("x", op{update: "REMOVE absent.k"})), badPath)
		})

		// The service does this; see test_nested_attribute_remove_from_missing_item in scylladb/scylladb, whose authors
		// compare their tests with it (test/alternator/test_update_expression.py).
		s.check("RemovingBelowAnItemThatIsNotThereDoesNothing", func(c *check) {
			for _, update := range []string{"REMOVE absent.k", "REMOVE absent[0]", "REMOVE a, absent.k"} {
				c.must(errorOf(c.update("none", op{update: update})))
				c.holds("none", nil)
			}
			c.invalid(errorOf(c.update("none", op{update: "REMOVE absent.k SET a = :one", values: one})), badPath)
		})

		makes("RemoveTakesSeveralPathsAndOnesThatAreNotThere",
			item{"a": n(1), "b": n(2), "c": n(3)}, op{update: "REMOVE a, b, absent"}, item{"c": n(3)})

		makes("ListElementsAreReplacedAndThoseBeyondTheEndAppended", item{"l": list(n(0), n(1))}, op{
			update: "SET l[1] = :v, l[9] = l[0], l[5] = :v", values: item{":v": str("new")},
		}, item{"l": list(n(0), str("new"), str("new"), n(0))})

		makes("IndexesMeanTheListAsItWas", item{"l": list(n(0), n(1), n(2), n(3))}, op{
			update: "REMOVE l[0], l[2], l[17] SET l[1] = :v", values: item{":v": str("new")},
		}, item{"l": list(str("new"), n(3))})

		makes("ListAppendJoinsListsEitherWay", item{"l": list(n(1))}, op{
			update: "SET l = list_append(:front, l), k = list_append(if_not_exists(k, :empty), :front)",
			values: item{":front": list(n(7)), ":empty": list()},
		}, item{"l": list(n(7), n(1)), "k": list(n(7))})

		makes("AddAddsNumbersAndSetMembers", item{"a": n(1), "s": strs("a")}, op{
			update: "ADD a :five, b :five, s :more, t :more", values: item{":five": n(5), ":more": strs("a", "b")},
		}, item{"a": n(6), "b": n(5), "s": strs("a", "b"), "t": strs("a", "b")})

		makes("DeleteTakesSetMembersAndNoSetStaysEmpty", item{"s": strs("a", "b", "c"), "n": nums("1", "2")}, op{
			update: "DELETE s :s, n :n", values: item{":s": strs("a", "z"), ":n": nums("1", "2")},
		}, item{"s": strs("b", "c")})

		makes("AllFourClausesWorkTogetherInAnyOrderAndCase", item{"a": n(1), "b": n(2), "s": strs("a", "b")}, op{
			update: "delete s :s  add n :one\nREMOVE a set  c1=b - :one", values: item{":s": strs("a"), ":one": n(1)},
		}, item{"b": n(2), "s": strs("b"), "n": n(1), "c1": n(1)})

		s.check("ArithmeticOnWhatIsNoNumberIsRefused", func(c *check) {
			was := item{"word": str("t"), "a": n(1)}
			c.given("x", was)
			for _, update := range []string{"SET a = word + :one", "ADD word :one"} {
				c.invalid(errorOf(c.update("x", op{update: update, values: one})), "An operand in the update expression has an incorrect data type")
			}
			c.invalid(errorOf(c.update("x", op{update: "SET a = absent + :one", values: one})), absent)
			c.holds("x", was)
		})

		makes("SetReplacesAMapAsAWhole", item{"m": object(item{"k": n(1), "l": n(2)})}, op{
			update: "SET m = :m", values: item{":m": object(item{"k": n(9)})},
		}, item{"m": object(item{"k": n(9)})})
	})
}
