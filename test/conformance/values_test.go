package conformance

import (
	"strings"
	"testing"
)

// HowItWorks.NamingRulesDataTypes.html in the developer guide.
func TestValues(t *testing.T) {
	onEveryEngine(t, func(s *suite) {
		s.check("EveryTypeSurvivesARoundTrip", func(c *check) {
			want := item{
				"S": str("text"), "N": n(-42), "B": binary("\x00\xffbytes"), "yes": boolean(true), "no": boolean(false),
				"null": null(), "L": list(n(1), str("two"), list(), object(item{})),
				"M": object(item{"k": object(item{"k": list(null())})}), "emptyL": list(), "emptyM": object(item{}),
				"SS": strs("a", "b"), "NS": nums("1", "2.5"), "BS": binaries("x", "y"),
				"unicode": str("žluť 漢字 🎟 \" \\ \n <&> \u2028"), "name with ünicode 🎟 and.dots": n(1),
			}
			c.given("x", want)
			c.holds("x", want)
		})

		s.check("EmptyStringsAndBytesAreValuesToo", func(c *check) {
			want := item{"a": str(""), "b": binary(""), "m": object(item{"k": str("")})}
			c.must(errorOf(c.put("x", want, op{})))
			c.holds("x", want)
		})

		s.check("AnEmptySetIsRefused", func(c *check) {
			for _, v := range []value{strs(), nums(), binaries()} {
				c.invalid(errorOf(c.put("x", item{"a": v}, op{})), "empty")
			}
		})

		// AWS documents no order (HowItWorks.NamingRulesDataTypes.html). DynamoDB Local sorts, as the service does.
		s.check("SetsAreReturnedInAscendingOrder", func(c *check) {
			c.given("x", item{"s": strs("b", "a", "é", "Z", "aa"), "n": nums("10", "-3", "2", "2.5"), "b": binaries("bb", "a", "b")})
			c.must(errorOf(c.update("x", op{update: "ADD s :s, n :n", values: item{":s": strs("0"), ":n": nums("1")}})))
			got := c.stored("x")
			c.sameMembers(got["s"], "0", "Z", "a", "aa", "b", "é")
			c.sameMembers(got["n"], "-3", "1", "2", "2.5", "10")
			c.sameMembers(got["b"], "a", "b", "bb")
		})

		s.check("ASetWithTheSameMemberTwiceIsRefused", func(c *check) {
			for _, v := range []value{strs("a", "a"), nums("1", "1.0")} {
				c.invalid(errorOf(c.put("x", item{"a": v}, op{})), "duplicates")
			}
		})

		s.check("MapsNestThirtyTwoDeepAndNoDeeper", func(c *check) {
			nested := func(depth int) value {
				v := n(1)
				for range depth {
					v = object(item{"k": v})
				}
				return v
			}
			c.given("x", item{"a": nested(31)})
			c.holds("x", item{"a": nested(31)})
			c.invalid(errorOf(c.put("x", item{"a": nested(33)}, op{})), "Nesting Levels have exceeded supported limits")
		})

		s.check("AnItemHoldsFourHundredKilobytesAndNoMore", func(c *check) {
			c.given("x", item{"a": str(strings.Repeat("a", 400*1024-200))})
			_, err := c.put("x", item{"a": str(strings.Repeat("a", 400*1024))}, op{})
			c.invalid(err, "Item size has exceeded the maximum allowed size")
			_, err = c.update("x", op{update: "SET b = :b", values: item{":b": str(strings.Repeat("b", 300))}})
			c.invalid(err, "Item size to update has exceeded the maximum allowed size")
		})
	})
}
