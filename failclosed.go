package queuelock

import (
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/ticket"
)

// FailClosed takes the lock without a lease: it ends with Release, or when an
// operator takes it away (Client.Evict), and in no other way. If its holder dies,
// everybody waits until a person has looked. It is for work where two at once
// are worse than none, and which checks no token. Where in doubt, take a lease
// and Lock.Condition.
//
// Its holder has no deadline: being cut off from the table is no loss, and
// Lock.Remaining is the longest Duration while it is held. Heartbeats go on, at
// Config.HeartbeatInterval, so that it learns of an operator's eviction: the lock
// is then lost, with the cause Evicted. WithTTL still sets their rhythm.
//
// Acquire costs one request more: the grant has a short lease, of four times
// Config.RequestTimeout and 2 s at least, until it is confirmed, before Acquire
// returns. So one that dies, or gives up, before that keeps nobody waiting for
// longer. If the confirmation was sent and not answered until the wait was over,
// Acquire takes it back, for three seconds more; if even that is not answered,
// its error matches *UnreleasedError too: the lock may stand without an owner,
// and an operator may have to evict it.
//
// Release is tried for as long as ctx lives, and for Config.RequestTimeout
// after. Then it is an *UnreleasedError: the lock may still stand, and Release may
// be called again; Close does. Its nil says that the lock is held no more. It is
// ErrLost if the table refuses it although no attempt went unanswered: an
// operator has evicted it. Where one did, its lost answer and an eviction since
// look alike, and it is nil.
//
// Acquire returns an error, and sends nothing, if it is combined with OnDanger or
// LockDelay: there is no deadline to be in danger of, and no lease to be lost.
// Nor is it resumed (Client.Resume): whoever took it over, and gave up, would open
// the queue.
// All clients of a queue must know it: to those of older versions the record is
// malformed while such a lock is held.
func FailClosed() Option { return func(o *options) { o.failClosed = true } }

func (s settings) validFailClosed() error {
	switch {
	case s.failClosed && len(s.dangers) > 0:
		return errors.New("FailClosed and OnDanger cannot be combined: a lock without a lease has no deadline")
	case s.failClosed && s.delay > 0:
		return errors.New("FailClosed and LockDelay cannot be combined: a lock without a lease is not lost by itself")
	}
	return nil
}

// UnreleasedError says that a lock that fails closed may still stand in the
// table: no lease ends it. If Release returned it, call Release again. Otherwise,
// or if the process is to end, an operator must look (Client.Inspect, "queuelock
// status") and evict it (Client.Evict, "queuelock evict").
type UnreleasedError struct {
	Key    Key
	Ticket ticket.Number
	Err    error // why it was not released
}

func (e *UnreleasedError) Error() string {
	return fmt.Sprintf("queuelock: %s ticket %s may still stand, without a lease that would end it: release it again, or evict it: %v", e.Key, e.Ticket, e.Err)
}

// Unwrap returns Err.
func (e *UnreleasedError) Unwrap() error { return e.Err }
