package queuelock

import (
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/quote"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

var (
	// ErrQueueFull reports that MaxWaiters or more waiters were ahead. A *NotAcquiredError matches it, and ErrNotAcquired.
	ErrQueueFull = errors.New("queuelock: the queue is full")
	// ErrSuperseded reports that a later waiter of the group came, see Supersede. A *NotAcquiredError matches it, and
	// ErrNotAcquired.
	ErrSuperseded = errors.New("queuelock: superseded by a later waiter")
)

// MaxWaiters lets Acquire wait only while fewer than n waiters are ahead, of any options, 0 to 10,000. Otherwise it
// leaves the queue with [ErrQueueFull], and the position and the holder in the [*NotAcquiredError]. Each look counts: a
// waiter that is admitted leaves if a lower ticket comes late. A refused caller puts no row, unless two come at once
// for the last place.
//
// MaxWaiters(0) is NoWait with ErrQueueFull for a busy lock. For other limits NoWait and Attempts, which do not queue,
// change nothing. It excludes Supersede, Client.Resume and AcquireAll.
func MaxWaiters(n int) Option { return itemOption(func(s *settings) { s.maxWaiters = &n }) }

// Supersede lets the latest waiter of a group win: Acquire leaves the queue with [ErrSuperseded] once a look shows a
// later waiter of the group. The latest waits for the holder, which goes on unless [CancelHolder] is given. Only a call
// with Supersede is in a group: others neither supersede nor are superseded. A waiter is never granted the lock if its
// last look showed a later one.
//
// A waiter that a later ticket has overtaken is superseded too, unless the record shows that ticket's holder in another
// group. NoWait and Attempts do not queue, so nothing supersedes them. It excludes MaxWaiters and AcquireAll. Give it
// again to Client.Resume.
func Supersede(opts ...SupersedeOption) Option {
	return itemOption(func(s *settings) {
		s.supersede = &superseding{group: defaultGroup}
		for _, opt := range opts {
			if opt.change != nil {
				opt.change(s.supersede)
			}
		}
	})
}

// SupersedeOption changes [Supersede]. The zero value changes nothing.
type SupersedeOption struct{ change func(*superseding) }

// superseding is one Supersede.
type superseding struct {
	group        string
	cancelHolder bool
}

// defaultGroup is that of Supersede without a Group.
const defaultGroup = "all"

// Group names the group of Supersede, 1 to 256 bytes. The default is "all".
func Group(name string) SupersedeOption {
	return SupersedeOption{func(s *superseding) { s.group = name }}
}

// CancelHolder lets the latest waiter ask each holder of its group to give way, once it has seen it, as Operator.Revoke
// does. The request is cooperative: see Lock.Revoked. A holder that was asked before is not asked again.
var CancelHolder = SupersedeOption{func(s *superseding) { s.cancelHolder = true }}

// validPolicy checks the options of this file.
func (s *settings) validPolicy() error {
	if n := s.maxWaiters; n != nil {
		switch {
		case *n < 0 || *n > queue.MaxWaiters:
			return fmt.Errorf("MaxWaiters(%d): 0 to %d are possible", *n, queue.MaxWaiters)
		case s.supersede != nil:
			return errors.New("MaxWaiters and Supersede cannot be combined: " +
				"a waiter that has superseded another might be refused itself")
		case s.resume != nil:
			return errors.New("Resume and MaxWaiters cannot be combined: the handle has its place in the queue")
		}
	}
	if p := s.supersede; p != nil {
		bad, printable := quote.Bad(p.group)
		switch {
		case p.group == "" || len(p.group) > queue.MaxGroup:
			return fmt.Errorf("the Group of Supersede has %d bytes: 1 to %d are possible", len(p.group), queue.MaxGroup)
		case !printable:
			return fmt.Errorf("the Group of Supersede contains %s: only printable characters are possible", bad)
		}
	}
	return nil
}

// policy returns the rule of the waiter. That of MaxWaiters(0) is its wait, see patience.
func (s *settings) policy() (p machine.Policy) {
	if s.maxWaiters != nil && *s.maxWaiters > 0 {
		p.Limited, p.Waiters = true, *s.maxWaiters
	}
	if s.supersede != nil {
		p.Group, p.CancelHolder = s.supersede.group, s.supersede.cancelHolder
	}
	return p
}

// refusesWait reports whether MaxWaiters lets no one wait.
func (s *settings) refusesWait() bool { return s.maxWaiters != nil && *s.maxWaiters == 0 }

// patience returns how the waiter waits.
func (s *settings) patience() waitpolicy.Wait {
	if tries, _ := s.wait.Tries(); s.refusesWait() && tries == 0 {
		return waitpolicy.NoWait
	}
	return s.wait
}
