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

		s.check("OfClaimsAtOnceExactlyOneWins", func(c *check) {
			for round := range 5 {
				sk := fmt.Sprint(round)
				c.given(sk, item{"ticketNumber": n(99), "servingAfter": n(0), "granted": n(0), "holders": object(item{})})
				won := all(c, func(i int) error {
					_, err := c.update(sk, op{
						update: claim, condition: claimIf, names: map[string]string{"#id": fmt.Sprint("w", i)},
						values: item{":holder": entry(0), ":t": n(i + 1), ":t_minus_1": n(i), ":zero": n(0)},
					})
					return err
				})
				c.same("winners", won, 1)
			}
		})

		s.check("TakesAtOnceGetDifferentNumbersAndOneIsServed", func(c *check) {
			c.given(recordKey, item{"ticketNumber": n(0)})
			numbers := make(chan value, writers)
			all(c, func(i int) error {
				got, err := c.take(fmt.Sprint("h", i))
				numbers <- got["ticketNumber"]
				return err
			})
			seen := map[string]bool{}
			for range writers {
				if v, ok := (<-numbers).(*types.AttributeValueMemberN); ok {
					seen[v.Value] = true
				}
			}
			c.same("different numbers", len(seen), writers)
			record := c.stored(recordKey)
			c.same("the last number", record["ticketNumber"], n(writers))
			holders, _ := record["holders"].(*types.AttributeValueMemberM)
			if holders == nil || len(holders.Value) != 1 {
				c.Errorf("want one holder, got: %v", record["holders"])
			}
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
