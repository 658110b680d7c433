package requests_test

import (
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

func TestMain(m *testing.M) {
	locktest.SmallTickets()
	os.Exit(engines.Main(m).Run())
}

func n(i int) ticket.Number { return ticket.FromUint64(uint64(i)) }

// queueOf is a queue of the table as a client of its own sees it.
func queueOf(tb *queuelocktest.Table, entity string) table.Queue { return queueFor(tb, entity, "lock") }

func queueFor(tb *queuelocktest.Table, entity, reason string) table.Queue {
	layout := table.Layout{Table: tb.Name(), PK: "pk", SK: "sk", TTL: "expiresAt"}
	return table.NewStore(tb.Client("c", retriesAtOnce), layout, 5*time.Second).Queue(entity, reason, nil)
}

// retriesAtOnce lets the SDK try again as it does, without a pause.
func retriesAtOnce(o *dynamodb.Options) {
	o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
		r.RateLimiter = ratelimit.None
		r.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
}

// takeAfter is TAKE of a record's own counter, which begins after base.
func takeAfter(e queue.Entry, base ticket.Number, noWait bool) clause.Write {
	return ticket.Master{Attribute: attr.TicketNumber}.Take(queue.Take(e, noWait), base).Write
}

func entryOf(id string) queue.Entry {
	return queue.Entry{ID: id, Owner: "owner of " + id, Lease: queue.Lease{TTL: time.Minute}}
}

func endingOf(id string, ticket int) queue.Ending {
	return queue.Ending{ID: id, Ticket: n(ticket), Call: 1}
}
