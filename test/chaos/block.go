package chaos

import (
	"cmp"
	"slices"

	"github.com/queuelock/queuelock/internal/workload/turns"
)

// blocks counts the blocks of two turns or more, the turns in them that followed another in memory, and the turns of the longest.
func blocks(all []turns.Turn) (n, followed, longest int) {
	all = slices.DeleteFunc(slices.Clone(all), func(t turns.Turn) bool { return t.Granted == 0 })
	slices.SortFunc(all, func(a, b turns.Turn) int {
		return cmp.Or(cmp.Compare(a.Entity, b.Entity), cmp.Compare(a.Worker, b.Worker), a.Ticket.Compare(b.Ticket))
	})
	length := 1
	for _, t := range all {
		if !t.Followed {
			length = 1
			continue
		}
		if length == 1 {
			n++
		}
		followed++
		length++
		longest = max(longest, length)
	}
	return n, followed, longest
}
