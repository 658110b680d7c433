package conformance

import (
	"fmt"
	"testing"

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

// TAKE, the seed, NoWait and CLAIM.
func TestTaking(t *testing.T) {
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
	})
}
