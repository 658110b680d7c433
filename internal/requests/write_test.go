package requests_test

import (
	"errors"
	"testing"

	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
)

func take(t *testing.T, q table.Queue, id string) queue.Record {
	t.Helper()
	for {
		rec, _, err := requests.Take(t.Context(), q, queue.Take(entryOf(id), false))
		if errors.Is(err, requests.ErrRefused) {
			continue
		}
		locktest.OK(t, err)
		return rec
	}
}

// cost is how many requests something takes.
func cost(tb *queuelocktest.Table, do func()) int {
	before := tb.Counts()
	do()
	return tb.Counts().Sub(before).Total().Sent
}
