package conformance

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// HowItWorks.NamingRulesDataTypes.html in the developer guide, "Number": up to 38 digits of precision, from 1E-130 to
// 9.9999999999999999999999999999999999999E+125, exact; "exceeding this results in an exception".
func TestNumbers(t *testing.T) {
	nines := strings.Repeat("9", 38) // the last ticket there can be
	below := strings.Repeat("9", 37) + "8"

	onEveryEngine(t, func(s *suite) {
		s.check("ThirtyEightDigitsAreStoredExactly", func(c *check) {
			for _, number := range []string{
				nines, "-" + nines, "12345678901234567890123456789012345678", "9007199254740993",
				"1234567890123456789.0123456789012345678", "0.12345678901234567890123456789012345678",
			} {
				c.given("x", item{"a": num(number)})
				c.holds("x", item{"a": num(number)})
			}
		})

		s.check("NumbersComeBackInTheirShortestForm", func(c *check) {
			for sent, want := range map[string]string{
				"007": "7", "+5": "5", "1.50": "1.5", "100": "100", "1e3": "1000", "1.5E1": "15", "-0": "0", "0.0": "0",
				".5": "0.5", "1200e-2": "12", "1E+2": "100",
				"1e125":                           "1" + strings.Repeat("0", 125),
				nines + strings.Repeat("0", 5):    nines + strings.Repeat("0", 5),
				"1E-130":                          "0." + strings.Repeat("0", 129) + "1",
				"0.00" + strings.Repeat("0", 200): "0",
			} {
				c.given("x", item{"a": num(sent)})
				c.holds("x", item{"a": num(want)})
			}
		})

		s.check("ArithmeticIsExactToTheLastDigit", func(c *check) {
			for _, tc := range []struct{ a, operation, b, want string }{
				{below, "+", "1", nines},
				{nines, "-", "1", below},
				{nines, "-", nines, "0"},
				{"9007199254740992", "+", "1", "9007199254740993"},
				{"10000000000000000000000", "+", "1", "10000000000000000000001"},
				{"0.1", "+", "0.2", "0.3"},
				{"1", "-", "3", "-2"},
			} {
				was, is, values := item{"a": num(tc.a)}, item{"a": num(tc.want)}, item{":b": num(tc.b)}
				c.makes(was, op{update: "SET a = a " + tc.operation + " :b", values: values}, is)
				if tc.operation == "+" {
					c.makes(was, op{update: "ADD a :b", values: values}, is)
				}
			}
		})

		s.check("SumsComeBackInTheirShortestForm", func(c *check) {
			c.makes(item{"a": num("1.5")}, op{update: "SET a = a + :b", values: item{":b": num("1.5")}}, item{"a": n(3)})
		})

		s.check("ComparisonIsExactToTheLastDigit", func(c *check) {
			c.given("x", item{"a": num(below)})
			for condition, want := range map[string]bool{
				"a < :b": true, "a <= :b": true, "a = :b": false, "a >= :b": false, "a > :b": false,
			} {
				_, err := c.update("x", op{
					update: "SET touched = :b", condition: condition, values: item{":b": num(nines)},
				})
				if want {
					c.must(err)
				} else {
					c.refusedByCondition(err)
				}
			}
		})

		s.check("EqualNumbersAreEqualHoweverTheyAreWritten", func(c *check) {
			c.given("x", item{"a": num("100")})
			for _, same := range []string{"1e2", "100.00", "0100", "+100"} {
				c.must(errorOf(c.update("x", op{update: "SET touched = :b", condition: "a = :b", values: item{":b": num(same)}})))
			}
		})

		s.check("OnePastTheLastTicketHasOneDigitAndTwoPastIsRefused", func(c *check) {
			last, past := item{"a": num(nines)}, item{"a": num("1" + strings.Repeat("0", 38))}
			c.makes(last, op{update: "SET a = a + :b", values: item{":b": n(1)}}, past) // 39 digits, one of them significant
			c.given("x", last)
			c.invalid(errorOf(c.update("x", op{update: "SET a = a + :b", values: item{":b": n(2)}})))
			c.holds("x", last)
			c.given("x", past)
			c.invalid(errorOf(c.update("x", op{update: "ADD a :b", values: item{":b": n(1)}})))
		})

		s.check("AResultOutOfRangeIsRefused", func(c *check) {
			c.given("x", item{"a": num("9e125")})
			c.invalid(errorOf(c.update("x", op{update: "SET a = a + a"})), "Number overflow")
			c.invalid(errorOf(c.update("x", op{update: "ADD a :b", values: item{":b": num("9e125")}})), "Number overflow")
		})

		s.check("NumbersOutOfRangeAreRefused", func(c *check) {
			for number, part := range map[string]string{
				"1" + nines:                    "38",
				"0." + strings.Repeat("1", 39): "38",
				"1e126":                        "Number overflow",
				"-1e126":                       "Number overflow",
				"1e-131":                       "Number underflow",
			} {
				c.invalid(errorOf(c.put("x", item{"a": num(number)}, op{})), part)
			}
			c.holds("x", nil)
		})

		s.check("WhatIsNoNumberIsRefused", func(c *check) {
			for _, number := range []string{"NaN", "Infinity", "dog", " 1", "1 ", "0x10", "1_000", "1e", "--1"} {
				c.invalid(errorOf(c.put("x", item{"a": num(number)}, op{})), "cannot be converted")
			}
			c.invalid(errorOf(c.put("x", item{"a": num("")}, op{})))
		})

		s.check("NumbersInMapsListsSetsAndOperandsAreAsExact", func(c *check) {
			c.given("x", item{"m": object(item{"k": num(below)}), "l": list(num(below)), "s": nums(below, nines)})
			got := c.answer(c.update("x", op{
				update: "SET m.k = m.k + :one, l[0] = l[0] + :one", condition: "contains(s, :nines)", returns: types.ReturnValueAllNew,
				values: item{":one": n(1), ":nines": num(nines)},
			}))
			c.same("the new item", withoutKeys(got), item{
				"m": object(item{"k": num(nines)}), "l": list(num(nines)), "s": nums(below, nines),
			})
		})
	})
}
