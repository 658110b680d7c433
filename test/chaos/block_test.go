package chaos

import (
	"testing"

	"github.com/queuelock/queuelock/internal/workload/turns"
	"github.com/queuelock/queuelock/ticket"
)

func TestBlocks(t *testing.T) {
	turn := func(w string, number uint64, followed bool) turns.Turn {
		return turns.Turn{Worker: w, Entity: "e", Ticket: ticket.FromUint64(number), Granted: at(int(number)), Followed: followed}
	}
	n, followed, longest := blocks([]turns.Turn{
		turn("a", 3, false), turn("a", 1, true), turn("a", 2, true), // of three
		turn("b", 4, false),
		turn("a", 5, true), turn("a", 6, false), // of two
		{Worker: "a", Entity: "e", Asked: at(7)},
	})
	if n != 2 || followed != 3 || longest != 3 {
		t.Errorf("%d blocks, %d turns followed, the longest is of %d", n, followed, longest)
	}
}
