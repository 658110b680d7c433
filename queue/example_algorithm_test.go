package queue_test

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// A query from RecordSortKey to the SortKey of ticket.Max shows the record and the rows. What it means for a ticket is decided here, and
// never grants the lock: a live row ahead, or a holder in the way, is waited for. Otherwise CLAIM is tried.
func ExampleSnapshot_Decide() {
	q := queue.Items{PK: "pk", SK: "sk", TTL: "expiresAt", Entity: "order-7", Reason: "lock"}
	record := q.RecordKey()
	for name, value := range map[string]string{"ticketNumber": "13", "servingAfter": "10", "granted": "11"} {
		record[name] = &types.AttributeValueMemberN{Value: value}
	}
	record["holders"] = &types.AttributeValueMemberM{} // ticket 11 has released the lock
	alive := queue.Lease{TTL: 15 * time.Second, Until: time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)}
	ahead := queue.Waiter{Ticket: ticket.FromUint64(12), ID: "a", Lease: alive}.Item(q)

	var read queue.Snapshot
	for _, item := range []map[string]types.AttributeValue{record, ahead} {
		if err := read.Add(q, item); err != nil {
			fmt.Println(err)
		}
	}
	for _, left := range []time.Duration{10 * time.Second, 0} { // of the lease of ticket 12, as heartbeat.Observer judges it
		mine := read.Decide(queue.Leases{Rows: []time.Duration{left}}, ticket.FromUint64(13), queue.Mode{}, nil)
		fmt.Println(mine.Ahead, "ahead:", mine.Do == queue.ActionClaim, len(mine.ExpiredRows), "to sweep")
	}
	// Output:
	// 1 ahead: false 0 to sweep
	// 0 ahead: true 1 to sweep
}
