package heartbeat

import (
	"cmp"
	"errors"
	"time"
)

// machine is the life of a lease that is kept, as plain fields. Each method is a step: it takes what has happened and
// the time, and returns what to do. After a step, wake says when the next is due. A Keeper plays it.
type machine struct {
	config   Config
	deadline time.Time     // zero: the lease has no end
	due      time.Time     // of the next renewal, unless only Extend renews
	sending  bool          // a renewal is under way
	sent     time.Time     // when it was sent
	asked    bool          // another is to follow, see Extend
	failure  error         // of the last renewal since the last success
	pause    time.Duration // after it
	warned   []time.Time   // of each of the Warnings: the deadline of which it warned last
	stopped  bool
	loss     *LossError
}

// todo is what to do after a step, in this order.
type todo struct {
	warn  []Warning // call these
	lost  bool      // report the loss
	renew bool      // send a renewal
}

// draw returns a random number in [0, 1).
type draw func() float64

func begin(sent time.Time, c Config, random draw) machine {
	m := machine{config: c, warned: make([]time.Time, len(c.Warnings))}
	m.due = sent.Add(m.early(c.First, random))
	if !c.Endless {
		m.deadline = cmp.Or(c.Deadline, sent.Add(c.TTL-c.Margin))
	}
	return m
}

// over reports whether there is nothing more to do.
func (m *machine) over() bool { return m.stopped || m.loss != nil }

// wake returns when the next step is due; zero: none is.
func (m *machine) wake() time.Time {
	if m.over() {
		return time.Time{}
	}
	next := m.deadline
	for i, w := range m.config.Warnings {
		if at := m.deadline.Add(-w.Margin); m.unwarned(i) && at.Before(next) {
			next = at
		}
	}
	if !m.sending && m.config.Interval > 0 && (next.IsZero() || m.due.Before(next)) {
		next = m.due
	}
	return next
}

// step does what is due. The deadline comes first: a process that was paused has lost the lease, and renews nothing. It
// passes after Stop too.
func (m *machine) step(now time.Time) todo {
	do := todo{warn: m.warn(now)}
	if m.loss == nil && !m.config.Endless && !now.Before(m.deadline) {
		do.lost, m.loss = true, &LossError{Cause: Expired}
		if m.failure != nil || m.sending {
			m.loss = &LossError{Cause: Unreachable, Err: m.failure}
		}
	}
	due := m.asked || m.config.Interval > 0 && !now.Before(m.due)
	if due && !m.sending && !m.over() {
		do.renew, m.sending, m.sent, m.asked = true, true, now, false
	}
	return do
}

// extend asks for a renewal that is sent from now on.
func (m *machine) extend(now time.Time) todo {
	m.asked = true
	return m.step(now)
}

// stop ends the renewals and the warnings.
func (m *machine) stop() { m.stopped, m.config.Warnings = true, nil }

// answer is the end of the renewal under way.
func (m *machine) answer(now time.Time, err error, random draw) todo {
	m.sending = false
	if m.over() {
		return todo{}
	}
	warn := m.warn(now) // a process that was paused is warned even if this answer renews the lease
	switch {
	case err == nil:
		// An answer after the deadline counts if no step has seen the deadline pass: the new deadline is taken from the time
		// at which the renewal was sent.
		m.failure, m.pause = nil, 0
		m.due = m.sent.Add(m.early(m.config.Interval, random))
		if !m.config.Endless {
			m.deadline = m.sent.Add(m.config.TTL - m.config.Margin)
		}
	case errors.Is(err, ErrEvicted):
		m.loss = &LossError{Cause: Evicted, Err: err}
		return todo{warn: warn, lost: true}
	default:
		// A renewal that the deadline has cut short says less than the failure before it.
		if m.failure == nil || m.config.Endless || now.Before(m.deadline) {
			m.failure = err
		}
		m.due = now.Add(m.soon(random))
	}
	do := m.step(now)
	do.warn = append(warn, do.warn...)
	return do
}

// early shortens a wait at random, so that leases taken together are not renewed together.
func (m *machine) early(wait time.Duration, random draw) time.Duration {
	return wait - time.Duration(float64(wait)*m.config.Spread*random())
}

// soon returns the time until the next attempt after a failure, give or take a half. It is short at first, and grows
// until half a lease has some twenty attempts. Without an end it grows to the interval.
func (m *machine) soon(random draw) time.Duration {
	longest := m.config.TTL / 40
	if m.config.Endless {
		longest = m.config.Interval
	}
	if m.pause == 0 {
		m.pause = m.config.TTL / 200
	} else {
		m.pause = min(2*m.pause, longest)
	}
	return time.Duration(float64(m.pause) * (0.5 + random()))
}

// warn returns the warnings that are due.
func (m *machine) warn(now time.Time) (due []Warning) {
	for i, w := range m.config.Warnings {
		if m.unwarned(i) && m.loss == nil && !now.Before(m.deadline.Add(-w.Margin)) {
			m.warned[i] = m.deadline
			due = append(due, w)
		}
	}
	return due
}

// unwarned reports whether a warning was not given of the present deadline. There is none of a lease without an end.
func (m *machine) unwarned(i int) bool {
	return !m.config.Endless && !m.warned[i].Equal(m.deadline)
}
