package queuelock

import (
	"context"
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// Shared lets the lock be held together with others that are shared: readers
// hold together, and a writer, which is one without this option, alone. All wait
// in one queue and are admitted in the order of their tickets: a reader that
// comes after a waiting writer waits for it, so that readers never starve
// writers. Readers that follow each other in the queue are all admitted, without
// waiting for each other's work.
//
// Lock.Ticket still strictly increases from grant to grant, but holders of lower
// tickets may be there still: a resource that refuses tokens below the highest
// it has seen is for what writers send, and readers need Lock.Condition.
//
// As many hold together as the table sustains heartbeats for, at most 500; others
// wait. It is the formula of Permits, with 256 bytes of data for each: some 180 at
// the default HeartbeatInterval of 30 s, and 500 from four minutes on. WithData and
// SetData take at most 256 bytes. All clients of a queue must know of
// shared locks: one of a version that does not could leave a mode behind in which
// readers join a writer.
//
// Requests are those of any lock. One who joins readers was not served by its
// first request, as the lock was not idle, and so costs what one who has queued
// costs: four or five requests in all, and a look for each reader just ahead. With
// waitpolicy.NoWait a reader is refused, with one request, while a writer holds;
// while one only waits, with two: a ticket and a look.
func Shared() Option { return func(o *options) { o.mode.Shared = true } }

// Permits makes the queue a semaphore: up to n hold at once, in the order of
// their tickets, and each release admits the next. n is 1 to 500. It is written
// down with the first use of the queue, for life: any other n later on, and an
// Acquire without Permits, is a *MismatchError, as is Permits for a queue that
// was used as a lock. It cannot be combined with Shared.
//
// The first to come to an idle semaphore is served by one request, as with a
// lock; others cost what one who has queued costs, also while permits are free.
// Each holder's entry makes the record larger, by some 200 bytes: beyond five
// holders each write costs a write unit more for each five. Acquire refuses a
// semaphore whose heartbeats the table does not sustain, and sends nothing:
//
//	size  = 1 KB + n * (200 bytes + Owner + data) is at most 350 KB
//	units = n / HeartbeatInterval * size in KB is at most 500 a second
//
// At the default interval of 30 s, n is some 260 without data. WithData and SetData
// take at most what these leave, and 4096 bytes. Lock.Ticket is as for Shared.
func Permits(n int) Option {
	return func(o *options) {
		o.mode.Permits = n
		if n == 0 {
			o.mode.Permits = -1 // zero is a lock's
		}
	}
}

// MismatchError says that a queue is of another kind than was asked for, and
// names both. Nothing was acquired, and nothing is left. A queue keeps its kind
// for life: ask for what it is, or use another Reason.
type MismatchError struct {
	Key Key
	// Is and Wanted are such as "a lock", "a semaphore of 3" and "a queue of
	// ScopeShared".
	Is, Wanted string
	remedy     string // "pass Permits(3)"
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("queuelock: %s is %s, and %s is asked for: a queue keeps its kind for life: %s, or use another Reason", e.Key, e.Is, e.Wanted, e.remedy)
}

func validMode(m serving.Mode) error {
	switch {
	case m.Permits < 0 || m.Permits > serving.MaxPermits:
		return fmt.Errorf("Permits: between 1 and %d are possible", serving.MaxPermits)
	case m.Permits > 0 && m.Shared:
		return errors.New("Permits and Shared cannot be combined: a semaphore has no writers")
	}
	return nil
}

// validLoad refuses a semaphore with more holders than its record sustains.
func (s settings) validLoad() error {
	n, l := s.mode.Permits, s.load(0)
	if n <= 1 || l.MaxData(n, maxData) >= 0 {
		return nil
	}
	units, _ := l.Units(n)
	return fmt.Errorf("Permits(%d) with HeartbeatInterval %v needs %.0f write units a second for heartbeats, 500 are possible: at least %v is needed", n, s.HeartbeatInterval, units, l.MinInterval(n))
}

// ErrUpgrade says that a shared lock cannot be made exclusive.
var ErrUpgrade = errors.New("queuelock: a shared lock cannot be upgraded: two that wait for each other to leave would wait for ever; release it, and acquire it without Shared")

// Upgrade always returns ErrUpgrade, and makes no request. What was read under
// the shared lock must be read again under the exclusive one.
func (l *Lock) Upgrade() error { return ErrUpgrade }

// Shared reports whether the lock is held together with others, by the option
// Shared or since Downgrade.
func (l *Lock) Shared() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shared
}

// isAlone reports whether nobody else can hold.
func (l *Lock) isAlone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.alone
}

// Downgrade makes an exclusive lock a shared one, with nobody in between: what
// was written under it can be read on, together with others. Readers that wait
// are admitted from then on, up to the next writer in the queue. The ticket
// stays the same. A write with a Condition or a Transact of before, that is still
// on its way, is refused once one has joined.
//
// nil says that it is shared, by this call or an earlier one. An error that
// matches ErrLost says that the lock was lost, and ErrReleased that it was
// released. A semaphore's permit cannot be downgraded, nor can an item's lock: an
// error, and nothing is sent. Any other error is the table's, or that of ctx: the lock is held, and may be shared
// already, or may yet become so. Calling again is safe.
//
// One request; none if it is known to be shared. Conflicts with transactions,
// throttles and lost answers are retried until ctx or the lock ends.
func (l *Lock) Downgrade(ctx context.Context) error {
	if l.mode.Permits > 0 {
		return fmt.Errorf("queuelock: downgrade %s: it is a semaphore's permit, which has no writers", l.key)
	}
	if l.queue.Home != nil {
		return fmt.Errorf("queuelock: downgrade %s: the lock of an item is not shared", l.key)
	}
	if err := l.Err(); err != nil {
		return err
	}
	if l.Shared() {
		return nil
	}
	held, cancel := l.within(ctx)
	defer cancel()
	// Others may join, who must see what was written under the exclusive lock.
	resume, err := l.settleWrites(held)
	if resume != nil {
		defer resume()
	}
	if err != nil {
		return fmt.Errorf("queuelock: %s: downgrade: %w", l.key, errors.Join(err, ctx.Err(), l.Err()))
	}
	l.mu.Lock()
	l.alone = false
	l.mu.Unlock()
	for retries := retry.For(0); ; {
		rec, err := serving.Downgrade(held, l.queue, l.id, l.ticket)
		switch {
		case err == nil:
			l.saw(rec)
			l.client.lines.Wake(l.queue)
			return nil
		case errors.Is(err, serving.ErrRefused):
			return l.fenced(rec)
		case !table.Transient(err) || !retries.Pause(held):
			return fmt.Errorf("queuelock: %s: downgrade: %w", l.key, errors.Join(err, ctx.Err(), l.Err()))
		}
	}
}
