//go:build unix

package process

import (
	"errors"
	"os"
	"os/signal"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// poll is how often a tree that is killed, and a group without a reaper, are looked at.
const poll = 10 * time.Millisecond

// member is a process of a tree.
type member struct {
	pid, parent, group int
	name               string
	zombie             bool
}

// signalAll sends a signal to the group of a command, and to what is below the supervisor
// outside of the group. No process receives it twice: many programs give up cleaning up
// at a second SIGTERM. After the end of its leader the group may be empty, and its number
// another's: then it is signalled only if it has a process of the tree.
func signalAll(group, root int, leader bool, sig unix.Signal) {
	below := descendants(root)
	if leader || !seesOrphans() || slices.ContainsFunc(below, func(m member) bool { return m.group == group }) {
		_ = unix.Kill(-group, sig)
	}
	for _, m := range below {
		if m.group != group && !m.zombie {
			_ = unix.Kill(m.pid, sig)
		}
	}
}

// empty reports whether no process of a group is left.
func empty(group int) bool { return errors.Is(unix.Kill(-group, 0), unix.ESRCH) }

// deaf lets this process ignore signals, while the command gets their usual effect: a
// signal that is ignored at the start of a program stays so.
func deaf(signals ...os.Signal) { signal.Notify(make(chan os.Signal, 1), signals...) }

// nowhere is no process: nothing is below it.
const nowhere = -1
