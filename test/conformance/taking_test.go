package conformance

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Two expressions in the manner of the lock's, for requests that arrive together.
const (
	take = "SET servingAfter = if_not_exists(servingAfter, ticketNumber), granted = if_not_exists(granted, :zero), " +
		"holders = if_not_exists(holders, :holders), ticketNumber = ticketNumber + :one"
	takeIf = "attribute_exists(ticketNumber)"

	claim   = "SET holders.#id = :holder, granted = :t"
	claimIf = "size(holders) = :zero AND granted < :t AND servingAfter < :t_minus_1"
)

const recordKey = "lock/00000000000000000000000000000000000000"

// rowKey returns the sort key of a ticket's row.
func rowKey(ticket int) string { return fmt.Sprintf("lock/%038d", ticket) }

// entry is a holder as the record stores it.
func entry(beat int) value { return object(item{"beat": n(beat), "until": n(1000)}) }

func (c *check) take(id string) (item, error) {
	return c.update(recordKey, op{
		update: take, condition: takeIf, returns: types.ReturnValueAllNew,
		values: item{":zero": n(0), ":one": n(1), ":holders": object(item{id: entry(0)})},
	})
}
