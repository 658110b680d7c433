package conformance

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Each item is written by one request at a time: HowItWorks.Partitions and WorkingWithItems.html, "Conditional writes".
func TestConcurrency(t *testing.T) {
	const writers = 12

	// all runs f in as many goroutines, and returns how many succeeded; an error other than a failed condition fails.
	all := func(c *check, f func(i int) error) (won int) {
		errs := make(chan error, writers)
		for i := range writers {
			go func() { errs <- f(i) }()
		}
		for range writers {
			err := <-errs
			var failed *types.ConditionalCheckFailedException
			switch {
			case err == nil:
				won++
			case !errors.As(err, &failed):
				c.Errorf("unexpected error: %v", err)
			}
		}
		return won
	}

	onEveryEngine(t, func(s *suite) {
		// oneWins states that of writes of an item at once one succeeds.
		oneWins := func(property string, was item, write func(c *check, sk string, i int) (item, error)) {
			s.check(property, func(c *check) {
				for round := range 5 {
					sk := fmt.Sprint(round)
					if was != nil {
						c.given(sk, was)
					}
					c.same("winners", all(c, func(i int) error { return errorOf(write(c, sk, i)) }), 1)
				}
			})
		}

		oneWins("OfConditionalPutsAtOnceExactlyOneWins", nil, func(c *check, sk string, i int) (item, error) {
			return c.put(sk, item{"by": n(i)}, op{condition: "attribute_not_exists(pk)"})
		})

		oneWins("OfConditionalUpdatesAtOnceExactlyOneWins", item{"holders": object(item{})}, func(c *check, sk string, i int) (item, error) {
			return c.update(sk, op{
				update: "SET holders.#id = :one", condition: "size(holders) < :one",
				names: map[string]string{"#id": fmt.Sprint("w", i)}, values: item{":one": n(1)},
			})
		})

		oneWins("DeletesAtOnceOfOneBeatSucceedOnce", item{"beat": n(3)}, func(c *check, sk string, _ int) (item, error) {
			return c.delete(sk, op{condition: "beat = :seen", values: item{":seen": n(3)}})
		})

		s.check("UpdatesAtOnceAllCountAndReturnDifferentNumbers", func(c *check) {
			c.given("x", item{"a": n(0)})
			numbers := make(chan value, writers)
			all(c, func(i int) error {
				got, err := c.update("x", op{update: "SET a = a + :one", values: item{":one": n(1)}, returns: types.ReturnValueAllNew})
				numbers <- got["a"]
				return err
			})
			seen := map[string]bool{}
			for range writers {
				if v, ok := (<-numbers).(*types.AttributeValueMemberN); ok {
					seen[v.Value] = true
				}
			}
			c.same("different numbers", len(seen), writers)
			c.holds("x", item{"a": n(writers)})
		})
	})
}
