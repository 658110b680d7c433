package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// HEARTBEAT, RELEASE, the hand-off, RESET, EVICT and FENCE.
func TestHolding(t *testing.T) {
	onEveryEngine(t, func(s *suite) {
		beat := func(c *check, id string, ticket int) error {
			_, err := c.update(recordKey, op{
				update: heartbeat, condition: heartbeatIf,
				names:  map[string]string{"#id": id, "#until": "until"},
				values: item{":one": n(1), ":until": n(2000), ":t": n(ticket)},
			})
			return err
		}

		s.check("HeartbeatRenewsItsOwnEntryOnly", func(c *check) {
			record := served()
			record["holders"] = object(item{"h": entry(4), "other": entry(9)})
			c.given(recordKey, record)
			c.must(beat(c, "h", 1))
			record["holders"] = object(item{"h": object(item{"beat": n(5), "until": n(2000)}), "other": entry(9)})
			c.holds(recordKey, record)
		})

		s.check("HeartbeatOfAnIdWithDotsAndDashesUsesOneNameForIt", func(c *check) {
			record := served()
			record["holders"] = object(item{"host-1.example/42#a": entry(0)})
			c.given(recordKey, record)
			c.must(beat(c, "host-1.example/42#a", 1))
			record["holders"] = object(item{"host-1.example/42#a": object(item{"beat": n(1), "until": n(2000)})})
			c.holds(recordKey, record)
		})

		s.check("HeartbeatIsRefusedOnceEvictedOrOvertaken", func(c *check) {
			record := served()
			c.given(recordKey, record)
			c.refusedByCondition(beat(c, "evicted", 1))
			c.holds(recordKey, record)

			record["granted"] = n(2)
			c.given(recordKey, record)
			c.refusedByCondition(beat(c, "h", 1))
			c.holds(recordKey, record)

			// With the whole map gone, the nested path is absent as well, not an error.
			idle := item{"ticketNumber": n(2), "granted": n(2)}
			c.given(recordKey, idle)
			c.refusedByCondition(beat(c, "h", 1))
			c.holds(recordKey, idle)

			_, err := c.delete(recordKey, op{})
			c.must(err)
			c.refusedByCondition(beat(c, "h", 1))
			c.holds(recordKey, nil)
		})

		releaseAs := func(c *check, condition string, ticket int) error {
			values := item{":one": n(1), ":t": n(ticket)}
			names := map[string]string{"#id": "h"}
			switch condition {
			case quietIf:
				values, names = item{":zero": n(0), ":t": n(ticket)}, nil
			case quietLeftIf:
				values, names = item{":zero": n(0)}, nil
			}
			_, err := c.update(recordKey, op{update: release, condition: condition, names: names, values: values})
			return err
		}

		s.check("ReleaseWithNobodyQueuedLeavesAnIdleRecord", func(c *check) {
			for _, ticketNumber := range []int{1, 7} {
				record := served()
				record["ticketNumber"], record["granted"] = n(ticketNumber), n(7)
				c.given(recordKey, record)
				c.must(releaseAs(c, releaseIf, 1))
				// granted becomes the number that was there; both attributes are gone together.
				c.holds(recordKey, item{"ticketNumber": n(ticketNumber), "granted": n(ticketNumber)})
			}
		})

		s.check("ReleaseIsRefusedWhenSomebodyQueuedOrSharesOrTheHolderIsGone", func(c *check) {
			queued := served()
			queued["ticketNumber"] = n(2)
			shared := served()
			shared["holders"] = object(item{"h": entry(0), "other": entry(0)})
			gone := served()
			gone["holders"] = object(item{"other": entry(0)})
			for _, before := range []item{queued, shared, gone, {"ticketNumber": n(1), "granted": n(1)}} {
				c.given(recordKey, before)
				c.refusedByCondition(releaseAs(c, releaseIf, 1))
				c.holds(recordKey, before)
			}
		})

		s.check("HandOffOfTheLastHolderLeavesAnEmptyMap", func(c *check) {
			record := served()
			c.given(recordKey, record)
			names := map[string]string{"#id": "h"}
			_, err := c.update(recordKey, op{update: handOff, condition: handOffIf, names: names})
			c.must(err)
			record["holders"] = object(item{})
			c.holds(recordKey, record)

			_, err = c.update(recordKey, op{update: handOff, condition: handOffIf, names: names})
			c.refusedByCondition(err)
			c.holds(recordKey, record)
		})

		s.check("QuietTurnsAnEmptyMapIntoAnIdleRecord", func(c *check) {
			for _, tc := range []struct {
				condition             string
				ticketNumber, granted int
				refused               bool
			}{
				{quietIf, 5, 5, false},
				{quietIf, 3, 2, false}, // the last number is the one granted to me
				{quietIf, 5, 4, true},
				{quietLeftIf, 5, 5, false},
				{quietLeftIf, 3, 2, true},
			} {
				before := item{"ticketNumber": n(tc.ticketNumber), "servingAfter": n(0), "granted": n(tc.granted), "holders": object(item{})}
				c.given(recordKey, before)
				err := releaseAs(c, tc.condition, 3)
				if tc.refused {
					c.refusedByCondition(err)
					c.holds(recordKey, before)
					continue
				}
				c.must(err)
				c.holds(recordKey, item{"ticketNumber": n(tc.ticketNumber), "granted": n(tc.ticketNumber)})
			}

			c.given(recordKey, served())
			c.refusedByCondition(releaseAs(c, quietIf, 1))
		})

		s.check("EvictRemovesTheHolderOnlyAtTheBeatThatWasSeen", func(c *check) {
			record := served()
			record["holders"] = object(item{"h": entry(4), "other": entry(4)})
			c.given(recordKey, record)
			evict := func(seen int) error {
				_, err := c.update(recordKey, op{
					update: handOff, condition: evictIf, names: map[string]string{"#id": "h"}, values: item{":seen": n(seen)},
				})
				return err
			}
			c.refusedByCondition(evict(3))
			c.holds(recordKey, record)
			c.must(evict(4))
			record["holders"] = object(item{"other": entry(4)})
			c.holds(recordKey, record)
			c.refusedByCondition(evict(4)) // a path that is gone equals nothing
		})

		s.check("FenceLetsATransactionCommitOnlyWhileTheLockIsHeld", func(c *check) {
			c.given(recordKey, served())
			fenced := func(id string, ticket int, content string) error {
				_, err := c.db.TransactWriteItems(c.ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
					{ConditionCheck: &types.ConditionCheck{
						TableName: &c.table, Key: c.key(recordKey), ConditionExpression: aws.String(heartbeatIf),
						ExpressionAttributeNames:            map[string]string{"#id": id},
						ExpressionAttributeValues:           item{":t": n(ticket)},
						ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
					}},
					{Put: &types.Put{TableName: &c.table, Item: c.with("content", item{"content": str(content)})}},
				}})
				return err
			}
			c.must(fenced("h", 1, "first"))
			c.holds("content", item{"content": str("first")})
			c.holds(recordKey, served())

			reasons := c.cancelled(fenced("stale", 1, "second"))
			c.same("the codes", codes(reasons), []string{"ConditionalCheckFailed", "None"})
			c.same("the record that refused", withoutKeys(reasons[0].Item), served())
			c.holds("content", item{"content": str("first")})
		})
	})
}
