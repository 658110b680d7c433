package sim_test

import (
	"cmp"
	"flag"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/planted"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // a run makes much garbage and keeps little
	// Two goroutines that become ready at one instant run in an order that a program
	// cannot choose. On one core it is the same each time.
	runtime.GOMAXPROCS(1)
	flag.Parse()
	// "make sim" runs more.
	*seeds, *replays, *minutes = cmp.Or(*seeds, locktest.Scaled(6, 2)), cmp.Or(*replays, locktest.Scaled(4, 1)), cmp.Or(*minutes, locktest.Scaled(10, 1))
	planted.Leave = leaves(*left)
	goleak.VerifyTestMain(m)
}

// leaves returns whether a condition is one of those; nil if there are none.
func leaves(those string) func(w clause.Write, condition string) bool {
	if those == "" {
		return nil
	}
	list := strings.Split(those, "; ")
	return func(w clause.Write, condition string) bool {
		return slices.Contains(list, w.Name+": "+condition) || slices.Contains(list, w.Name+": *")
	}
}

// details are what an error says of its cause. Where a deadline ends a request
// at the instant at which the deadline itself is noticed, it is either.
var details = regexp.MustCompile(`( cause=|: unreachable|: expired|; meanwhile | on table ).*`)

// difference shows where two histories differ; empty if they do not. The events of one
// instant are in any order.
func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for _, lines := range [][]string{x, y} {
		for i := range lines {
			lines[i] = details.ReplaceAllString(lines[i], "")
		}
		slices.Sort(lines)
	}
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return strings.Join(x[max(0, i-5):i], "\n") +
				"\n- " + strings.Join(x[i:min(i+5, len(x))], "\n- ") + "\n+ " + strings.Join(y[i:min(i+5, len(y))], "\n+ ")
		}
	}
	if len(x) != len(y) {
		return "one is longer than the other"
	}
	return ""
}
