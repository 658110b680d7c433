package rows

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
)

// The writes, without a table to send them to.

func EnqueueWrite(item clause.Item, from string, earlier ...string) clause.Write {
	return enqueue(item, from, earlier...)
}
func RenewWrite(id string, until time.Time, expires types.AttributeValue) clause.Write {
	return Row{ID: id}.renew(until, expires)
}
func LeaveWrite(ids ...string) clause.Write    { return leave(ids) }
func SweepWrite(item clause.Item) clause.Write { return Row{raw: item}.sweep() }
