package rows

import (
	"context"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Get reads the row of a ticket consistently. It is nil if there is none.
func Get(ctx context.Context, q table.Queue, t ticket.Number) (*queue.Waiter, error) {
	item, err := q.Get(ctx, q.Key(q.SortKey(t)))
	if err != nil || item == nil {
		return nil, err
	}
	row := queue.DecodeRow(q.Items, item)
	return &row, nil
}
