package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The expressions of the lock protocol, as docs/protocol.md has them.
const (
	take = "SET servingAfter = if_not_exists(servingAfter, ticketNumber), granted = if_not_exists(granted, :zero), " +
		"holders = if_not_exists(holders, :holders), ticketNumber = ticketNumber + :one"
	takeIf       = "attribute_exists(ticketNumber)"
	takeNoWaitIf = takeIf + " AND (attribute_not_exists(holders) OR size(holders) = :zero)"

	seedIf = "attribute_not_exists(ticketNumber)"

	claim   = "SET holders.#id = :holder, granted = :t"
	claimIf = "size(holders) = :zero AND granted < :t AND servingAfter < :t_minus_1"

	heartbeat   = "SET holders.#id.beat = holders.#id.beat + :one, holders.#id.#until = :until"
	heartbeatIf = "attribute_exists(holders.#id) AND granted <= :t"

	release     = "SET granted = ticketNumber REMOVE holders, servingAfter"
	releaseIf   = "attribute_exists(holders.#id) AND size(holders) = :one AND (ticketNumber = granted OR ticketNumber = :t)"
	quietIf     = "size(holders) = :zero AND (ticketNumber = granted OR ticketNumber = :t)"
	quietLeftIf = "size(holders) = :zero AND ticketNumber = granted"

	handOff   = "REMOVE holders.#id"
	handOffIf = "attribute_exists(holders.#id)"

	evictIf = "holders.#id.beat = :seen"

	rowHeartbeat   = "SET beat = beat + :one, #until = :until"
	rowHeartbeatIf = "id = :id"
)

const recordKey = "lock/00000000000000000000000000000000000000"

// rowKey returns the sort key of a ticket's row.
func rowKey(ticket int) string { return fmt.Sprintf("lock/%038d", ticket) }

// entry is a holder as the record stores it.
func entry(beat int) value { return object(item{"beat": n(beat), "until": n(1000)}) }

// served is a record on which the holder h has ticket 1.
func served() item {
	return item{"ticketNumber": n(1), "servingAfter": n(0), "granted": n(0), "holders": object(item{"h": entry(0)})}
}

func (c *check) take(id string) (item, error) {
	return c.update(recordKey, op{
		update: take, condition: takeIf, returns: types.ReturnValueAllNew,
		values: item{":zero": n(0), ":one": n(1), ":holders": object(item{id: entry(0)})},
	})
}

func TestProtocol(t *testing.T) {
	onEveryEngine(t, func(s *suite) {
		s.check("TakeOnAnIdleRecordServesAtOnce", func(c *check) {
			c.given(recordKey, item{"ticketNumber": n(6), "granted": n(6)})
			got, err := c.take("h")
			c.must(err)
			// servingAfter is the number from before the update, ticketNumber the one after.
			c.same("the new record", withoutKeys(got), item{
				"ticketNumber": n(7), "servingAfter": n(6), "granted": n(6), "holders": object(item{"h": entry(0)}),
			})
			c.same("the keys returned with it", got["sk"], str(recordKey))
		})

		s.check("TakeOnABusyRecordOnlyTakesANumber", func(c *check) {
			c.given(recordKey, served())
			got, err := c.take("late")
			c.must(err)
			c.same("the new record", withoutKeys(got), item{
				"ticketNumber": n(2), "servingAfter": n(0), "granted": n(0), "holders": object(item{"h": entry(0)}),
			})
		})

		s.check("TakeOnAHandedOffRecordDoesNotBarge", func(c *check) {
			c.given(recordKey, item{"ticketNumber": n(3), "servingAfter": n(0), "granted": n(1), "holders": object(item{})})
			got, err := c.take("late")
			c.must(err)
			c.same("the new record", withoutKeys(got), item{
				"ticketNumber": n(4), "servingAfter": n(0), "granted": n(1), "holders": object(item{}),
			})
		})

		s.check("TakeWithoutARecordFailsItsConditionAndCreatesNothing", func(c *check) {
			_, err := c.take("h")
			c.refusedByCondition(err)
			c.holds(recordKey, nil)
		})

		s.check("TakeBuiltByTheExpressionPackageDoesTheSame", func(c *check) {
			c.given(recordKey, item{"ticketNumber": n(6)})
			name := expression.Name
			built, err := expression.NewBuilder().
				WithUpdate(expression.
					Set(name("servingAfter"), name("servingAfter").IfNotExists(name("ticketNumber"))).
					Set(name("granted"), name("granted").IfNotExists(expression.Value(0))).
					Set(name("holders"), name("holders").IfNotExists(expression.Value(object(item{"h": entry(0)})))).
					Set(name("ticketNumber"), name("ticketNumber").Plus(expression.Value(1)))).
				WithCondition(name("ticketNumber").AttributeExists()).
				Build()
			c.must(err)
			out, err := c.db.UpdateItem(c.ctx, &dynamodb.UpdateItemInput{
				TableName: &c.table, Key: c.key(recordKey), ReturnValues: types.ReturnValueAllNew,
				UpdateExpression: built.Update(), ConditionExpression: built.Condition(),
				ExpressionAttributeNames: built.Names(), ExpressionAttributeValues: built.Values(),
			})
			c.must(err)
			c.same("the new record", withoutKeys(out.Attributes), item{
				"ticketNumber": n(7), "servingAfter": n(6), "granted": n(0), "holders": object(item{"h": entry(0)}),
			})
		})

		s.check("SeedCreatesTheRecordOnce", func(c *check) {
			_, err := c.put(recordKey, served(), op{condition: seedIf})
			c.must(err)
			_, err = c.put(recordKey, item{"ticketNumber": n(1)}, op{condition: seedIf})
			c.refusedByCondition(err)
			c.holds(recordKey, served())
		})

		s.check("NoWaitIsServedWhenIdleOrHandedOff", func(c *check) {
			for sk, before := range map[string]item{
				"idle":       {"ticketNumber": n(4)},
				"handed off": {"ticketNumber": n(4), "servingAfter": n(1), "granted": n(3), "holders": object(item{})},
			} {
				c.given(sk, before)
				got, err := c.update(sk, op{
					update: take, condition: takeNoWaitIf, returns: types.ReturnValueAllNew,
					values: item{":zero": n(0), ":one": n(1), ":holders": object(item{"h": entry(0)})},
				})
				c.must(err)
				c.same(sk, got["ticketNumber"], n(5))
			}
		})

		s.check("NoWaitOnABusyRecordTakesNoNumber", func(c *check) {
			c.given(recordKey, served())
			_, err := c.update(recordKey, op{
				update: take, condition: takeNoWaitIf, returns: types.ReturnValueAllNew,
				values: item{":zero": n(0), ":one": n(1), ":holders": object(item{"late": entry(0)})},
			})
			c.refusedByCondition(err)
			c.holds(recordKey, served())
		})

		claimAs := func(c *check, ticket int) (item, error) {
			return c.update(recordKey, op{
				update: claim, condition: claimIf, returns: types.ReturnValueAllNew,
				names: map[string]string{"#id": "w"},
				values: item{
					":holder": object(item{"beat": n(0), "ticket": n(ticket)}),
					":t":      n(ticket), ":t_minus_1": n(ticket - 1), ":zero": n(0),
				},
			})
		}

		s.check("ClaimPutsAHolderIntoTheEmptyMap", func(c *check) {
			c.given(recordKey, item{"ticketNumber": n(3), "servingAfter": n(0), "granted": n(0), "holders": object(item{})})
			got, err := claimAs(c, 2)
			c.must(err)
			c.same("the new record", withoutKeys(got), item{
				"ticketNumber": n(3), "servingAfter": n(0), "granted": n(2),
				"holders": object(item{"w": object(item{"beat": n(0), "ticket": n(2)})}),
			})
		})

		s.check("ClaimIsRefusedWhileServedBelowTheFloorAndWithoutHolders", func(c *check) {
			empty := object(item{})
			for _, before := range []item{
				{"ticketNumber": n(3), "servingAfter": n(0), "granted": n(0), "holders": object(item{"h": entry(0)})},
				{"ticketNumber": n(3), "servingAfter": n(0), "granted": n(2), "holders": empty},
				{"ticketNumber": n(3), "servingAfter": n(1), "granted": n(0), "holders": empty},
				{"ticketNumber": n(3), "granted": n(3)}, // size() of what is not there is false, not an error
				{"ticketNumber": n(3), "holders": empty},
			} {
				c.given(recordKey, before)
				_, err := claimAs(c, 2)
				c.refusedByCondition(err)
				c.holds(recordKey, before)
			}
		})

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

		s.check("EnqueueWritesARowOnceAndOnlyItsOwnerRenewsIt", func(c *check) {
			row := item{"id": str("w"), "beat": n(0), "until": n(1000), "expiresAt": n(10)}
			_, err := c.put(rowKey(7), row, op{condition: "attribute_not_exists(pk)"})
			c.must(err)
			_, err = c.put(rowKey(7), item{"id": str("thief")}, op{condition: "attribute_not_exists(pk)"})
			c.refusedByCondition(err)

			renew := func(id string) error {
				_, err := c.update(rowKey(7), op{
					update: rowHeartbeat, condition: rowHeartbeatIf, names: map[string]string{"#until": "until"},
					values: item{":one": n(1), ":until": n(2000), ":id": str(id)},
				})
				return err
			}
			c.refusedByCondition(renew("thief"))
			c.must(renew("w"))
			row["beat"], row["until"] = n(1), n(2000)
			c.holds(rowKey(7), row)

			_, err = c.delete(rowKey(7), op{condition: "beat = :seen", values: item{":seen": n(0)}})
			c.refusedByCondition(err)
			_, err = c.delete(rowKey(7), op{condition: "beat = :seen", values: item{":seen": n(1)}})
			c.must(err)
			c.refusedByCondition(renew("w"))
			c.holds(rowKey(7), nil) // a refused heartbeat never revives the row
		})

		s.check("LookReadsTheRecordFirstAndThenTheRowsInTicketOrder", func(c *check) {
			c.given("lock", item{})                                // sorts before the reason's items
			c.given("lock/x", item{})                              // and this after all of them
			c.given("other/"+fmt.Sprintf("%038d", 1), item{})      // another reason
			c.given(rowKey(0), item{"ticketNumber": n(2_000_000)}) // the record
			for _, ticket := range []int{1_000_000, 2, 10, 9} {
				c.given(rowKey(ticket), item{"ticket": n(ticket)})
			}
			out, err := c.db.Query(c.ctx, &dynamodb.QueryInput{
				TableName: &c.table, ConsistentRead: aws.Bool(true),
				KeyConditionExpression:    aws.String("pk = :pk AND sk BETWEEN :record AND :last"),
				ExpressionAttributeValues: item{":pk": str(c.pk), ":record": str(recordKey), ":last": str(rowKey(10))},
			})
			c.must(err)
			var got []value
			for _, it := range out.Items {
				got = append(got, it["sk"])
			}
			c.same("the sort keys", got, []value{str(rowKey(0)), str(rowKey(2)), str(rowKey(9)), str(rowKey(10))})
			c.same("the record", withoutKeys(out.Items[0]), item{"ticketNumber": n(2_000_000)})
			if out.LastEvaluatedKey != nil {
				c.Errorf("there are no more pages, but LastEvaluatedKey is %v", out.LastEvaluatedKey)
			}
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
