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
		s.check("OfConditionalPutsAtOnceExactlyOneWins", func(c *check) {
			for round := range 5 {
				sk := fmt.Sprint(round)
				won := all(c, func(i int) error {
					_, err := c.put(sk, item{"by": n(i)}, op{condition: "attribute_not_exists(pk)"})
					return err
				})
				c.same("winners", won, 1)
			}
		})

		s.check("OfConditionalUpdatesAtOnceExactlyOneWins", func(c *check) {
			for round := range 5 {
				sk := fmt.Sprint(round)
				c.given(sk, item{"holders": object(item{})})
				won := all(c, func(i int) error {
					_, err := c.update(sk, op{
						update: "SET holders.#id = :one", condition: "size(holders) < :one",
						names: map[string]string{"#id": fmt.Sprint("w", i)}, values: item{":one": n(1)},
					})
					return err
				})
				c.same("winners", won, 1)
			}
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

		s.check("DeletesAtOnceOfOneBeatSucceedOnce", func(c *check) {
			for round := range 5 {
				sk := fmt.Sprint(round)
				c.given(sk, item{"beat": n(3)})
				won := all(c, func(int) error {
					_, err := c.delete(sk, op{condition: "beat = :seen", values: item{":seen": n(3)}})
					return err
				})
				c.same("winners", won, 1)
			}
		})
	})
}
