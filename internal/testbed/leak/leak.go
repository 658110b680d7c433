// Package leak finds goroutines that the tests of a package leave.
package leak

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// patience is for goroutines that are about to end.
const patience = 800 * time.Millisecond

// Main runs the tests of a package, and fails if a goroutine is left.
func Main(m interface{ Run() int }) { os.Exit(run(m, os.Stderr, patience)) }

func run(m interface{ Run() int }, out io.Writer, patience time.Duration) int {
	before := goroutines()
	code := m.Run()
	if code != 0 {
		return code // a test that failed in the middle may well have left one
	}
	left := remaining(before)
	for deadline := time.Now().Add(patience); len(left) > 0 && time.Now().Before(deadline); left = remaining(before) {
		time.Sleep(10 * time.Millisecond) // the runtime reports no end of a goroutine
	}
	if len(left) == 0 {
		return 0
	}
	fmt.Fprintf(out, "the tests left %d goroutines:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
	return 1
}

// remaining returns the stacks of goroutines that were not there before.
func remaining(before map[string]string) (stacks []string) {
	for id, stack := range goroutines() {
		if _, old := before[id]; !old && !strings.Contains(stack, "os/signal.loop") { // which never ends once a signal was asked for
			stacks = append(stacks, stack)
		}
	}
	slices.Sort(stacks)
	return stacks
}

// goroutines returns the stack of each goroutine but the caller's, by its number.
func goroutines() map[string]string {
	text := make([]byte, 1<<16)
	for n := runtime.Stack(text, true); ; n = runtime.Stack(text, true) {
		if n < len(text) {
			text = text[:n]
			break
		}
		text = make([]byte, 2*len(text))
	}
	all := map[string]string{}
	for _, stack := range strings.Split(strings.TrimSpace(string(text)), "\n\n")[1:] { // the first is the caller
		id, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
		all[id] = stack
	}
	return all
}
