package rows

import (
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/table"
)

// The writes, for the tests that draw their arguments.
var (
	WriteEnqueue = enqueue
	WriteLeave   = leave
)

func (r Row) WriteHeartbeat(until time.Time) clause.Write { return r.renew(until, table.Int(9)) }
func (r Row) WriteSweep() clause.Write                    { return r.sweep() }

// Read returns the row as it was read from an item.
func (r Row) Read(item table.Item) Row {
	r.raw = item
	return r
}
