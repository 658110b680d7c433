package counter_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

// TestBase checks where the numbers of a new counter begin: at DynamoDB's time, in ten
// thousandths of a second since 2026, but never later than it is.
func TestBase(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		options []queuelocktest.Option
		at      time.Time
		low, to uint64 // of the first number
	}{
		"before the epoch":    {nil, epoch.Add(-time.Hour), 1, 1},
		"an hour later":       {nil, epoch.Add(time.Hour), 3598 * 10_000, 3600*10_000 + 1},
		"without dates":       {[]queuelocktest.Option{queuelocktest.WithoutDate()}, epoch.Add(time.Hour), 3600 * 10_000, 3600*10_000 + 1},
		"after two centuries": {nil, epoch.AddDate(200, 0, 0), 6e13, 1 << 53},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			small := counter.Base
			counter.Base = ticket.Base
			defer func() { counter.Base = small }()
			time.Sleep(time.Until(test.at))
			tb := queuelocktest.NewTable(t, test.options...)
			c := newCounter(tb, "alice")
			locktest.Must(c.Store.Get(t.Context(), c.Key))
			first, err := c.Next(t.Context())
			if err != nil || first.Less(ticket.FromUint64(test.low)) || ticket.FromUint64(test.to).Less(first) {
				t.Fatalf("%s, %v, want %d to %d", first, err, test.low, test.to)
			}
			if next, err := c.Next(t.Context()); err != nil || next.After(first) != 1 {
				t.Errorf("%s, %v follows %s", next, err, first)
			}
			time.Sleep(5 * time.Second)
			locktest.Must(tb.Client("operator").DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: new(tb.Name()), Key: c.Key}))
			bob := newCounter(tb, "bob")
			locktest.Must(bob.Store.Get(t.Context(), bob.Key))
			again, err := bob.Next(t.Context())
			if err != nil || test.low > 1 && again.After(first) < 2 {
				t.Errorf("%s, %v follows %s after a deletion", again, err, first)
			}
			// A counter that an older version began is raised above the new records, and none further.
			if err := c.Raise(t.Context(), ticket.FromUint64(1), again); errors.Is(err, counter.ErrFar) {
				t.Error(err)
			}
		})
	}
}
