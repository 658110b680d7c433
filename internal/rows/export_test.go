package rows

import (
	"time"

	"github.com/queuelock/queuelock/internal/clause"
)

// The writes, for the tests that draw their arguments.
var (
	WriteEnqueue = enqueue
	WriteLeave   = leave
)

func (r Row) WriteHeartbeat(until time.Time) clause.Write { return r.renew(until, clause.Int(9)) }
func (r Row) WriteSweep() clause.Write                    { return r.sweep() }

// Read returns the row as it was read from an item.
func (r Row) Read(item clause.Item) Row {
	r.raw = item
	return r
}
