package queuelock

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/callback"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/picture"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Option changes one Acquire. A nil Option changes nothing. Acquire returns an error
// and sends nothing if an option is invalid.
type Option func(*options)

type options struct {
	ttl   time.Duration
	owner string
	data  []byte
	mode  serving.Mode

	warnings []warning
	progress func(Progress)
	placed   func(Handle)

	delay      time.Duration
	failClosed bool

	createItem bool
}

// WithTTL sets Config.TTL for one lock, HeartbeatInterval to half of it, and
// RequestTimeout to at most a quarter of it.
func WithTTL(ttl time.Duration) Option { return func(o *options) { o.ttl = ttl } }

// WithOwner sets Config.Owner for one lock.
func WithOwner(owner string) Option { return func(o *options) { o.owner = owner } }

// WithData publishes data of the holder while the lock is held. Inspect and
// *NotAcquiredError show it as Holder.Data. At most 4096 bytes, 256 with Shared, and
// less with many Permits. The bytes are copied. The default is no data.
func WithData(data []byte) Option {
	data = bytes.Clone(data)
	return func(o *options) { o.data = data }
}

// Shared makes the lock a reader's. Readers hold it together, and a writer, which does
// not use this option, holds it alone. All wait in one queue, so readers never starve
// writers. At most 500 readers hold together, about 180 at the default
// HeartbeatInterval.
//
// Holders of lower tickets may still be there: fence readers with Lock.Condition, not
// by the highest ticket. There is no upgrade to a writer.
func Shared() Option { return func(o *options) { o.mode.Shared = true } }

// Permits makes the queue a semaphore of n, 1 to 500: up to n hold at once, in the
// order of their tickets. The first use of a queue fixes n, and another kind is a
// *MismatchError. It cannot be combined with Shared, whose rule about tickets applies.
//
// Acquire refuses a semaphore whose heartbeats need more than half of a partition's
// capacity. At the default interval n is at most about 260; docs/costs.md has the
// formula.
func Permits(n int) Option {
	return func(o *options) {
		o.mode.Permits = n
		if n == 0 {
			o.mode.Permits = -1 // zero is a lock's
		}
	}
}

// LockDelay keeps the queue closed for d after the lease of a lost lock has ended. It
// protects a resource without a fencing token from requests of the former holder that
// are still on their way. A release opens the queue at once, as does Client.Evict.
// Shared and Permits admit others beside the lost holder as beside a live one.
//
// Zero, the default, is no delay. At most 24 h, in whole milliseconds.
func LockDelay(d time.Duration) Option { return func(o *options) { o.delay = d } }

// FailClosed takes the lock without a lease. Only Release or an operator's Client.Evict
// ends it: if its holder crashes, all wait until an operator has looked. Use it where
// two holders at once are worse than none and the resource checks no token.
//
// The holder has no deadline. Its heartbeats go on, so that it learns of an eviction. A
// Release without an answer returns *UnreleasedError, and so does an Acquire that could
// not take back its grant. It cannot be combined with OnExpiring, LockDelay or
// Client.Resume.
func FailClosed() Option { return func(o *options) { o.failClosed = true } }

// CreateItem lets LockItem create a missing item, with only its key and the lock's
// attributes. A late copy of the request may create an item again that was deleted
// meanwhile.
func CreateItem() Option { return func(o *options) { o.createItem = true } }

// OnProgress calls f with the queue position while Acquire waits: when it begins to
// wait, and after each look that changes what Progress shows. NoWait and an idle lock
// never call f. The last OnProgress counts.
//
// One goroutine at a time calls f, with the latest Progress. Acquire waits up to one
// second for the call under way, and Close waits for it, so f must not call Close. A
// panic of f ends the wait and continues in the caller of Acquire.
func OnProgress(f func(Progress)) Option { return func(o *options) { o.progress = f } }

// OnHandle calls f with the handle of the place in the queue, to be saved for
// Client.Resume. Acquire enters the queue after f has returned. Resume does not wait
// for f. If the lock is idle, f is not called: save Lock.Handle instead. The other
// rules of OnProgress apply.
func OnHandle(f func(Handle)) Option { return func(o *options) { o.placed = f } }

// OnExpiring calls f when Lock.Remaining falls to margin, because renewals failed or
// the process was paused. The lock may still be renewed: stop long work and save
// results. f runs in its own goroutine, once until a renewal succeeds, and may find the
// lock lost after a pause. Close waits for f, so f must not call Close. Each OnExpiring
// counts.
//
// margin is more than zero and at most TTL less its own margin, HeartbeatInterval and
// RequestTimeout: 24.19 s by default.
func OnExpiring(margin time.Duration, f func(*Lock)) Option {
	return func(o *options) { o.warnings = append(o.warnings, warning{margin, f}) }
}

// warning is one OnExpiring.
type warning struct {
	margin time.Duration
	call   func(*Lock)
}

// settings are the client's Config and the options of one Acquire.
type settings struct {
	Config
	options
}

func (c Config) with(opts []Option) settings {
	o := options{ttl: c.TTL, owner: c.Owner}
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	if o.ttl != c.TTL {
		c.TTL, c.HeartbeatInterval = o.ttl, o.ttl/2
		c.RequestTimeout = max(min(c.RequestTimeout, o.ttl/4), time.Millisecond)
	}
	c.Owner = o.owner
	return settings{c, o}
}

// validate checks the options together with the Config that they change.
func (s settings) validate() error {
	for _, check := range []func() error{
		s.Config.validate, s.validMode, s.validLoad, s.validData, s.validDelay, s.validFailClosed,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	for _, d := range s.warnings {
		if err := d.validate(s.Config); err != nil {
			return err
		}
	}
	return nil
}

// noItem refuses the options that only LockItem takes.
func (s settings) noItem() error {
	if s.createItem {
		return errors.New("CreateItem is for LockItem only")
	}
	return nil
}

func (s settings) validMode() error {
	switch m := s.mode; {
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

// maxData keeps the serving record small: its size sets the price of each write.
const maxData = 4096

func (s settings) validData() error { return validData("WithData", s.data, s.maxData()) }

func validData(what string, data []byte, most int) error {
	switch {
	case len(data) > maxData:
		return fmt.Errorf("%s: %d bytes: at most %d are possible", what, len(data), maxData)
	case len(data) > most:
		return fmt.Errorf("%s: %d bytes: at most %d are possible with that many other holders", what, len(data), most)
	}
	return nil
}

func (s settings) validDelay() error {
	switch d := s.delay; {
	case d < 0 || d > lease.MaxDelay:
		return fmt.Errorf("LockDelay is %v: between 0 and %v are possible", d, lease.MaxDelay)
	case d%time.Millisecond != 0:
		return fmt.Errorf("LockDelay is %v: whole milliseconds are needed", d)
	}
	return nil
}

func (s settings) validFailClosed() error {
	switch {
	case s.failClosed && len(s.warnings) > 0:
		return errors.New("FailClosed and OnExpiring cannot be combined: a lock without a lease has no deadline")
	case s.failClosed && s.delay > 0:
		return errors.New("FailClosed and LockDelay cannot be combined: a lock without a lease is not lost by itself")
	}
	return nil
}

func (d warning) validate(c Config) error {
	most := c.TTL - lease.Margin(c.TTL) - c.HeartbeatInterval - c.RequestTimeout
	switch {
	case d.call == nil:
		return errors.New("OnExpiring: the function is nil")
	case d.margin <= 0:
		return fmt.Errorf("OnExpiring: the margin is %v: more than zero is needed", d.margin)
	case d.margin > most:
		return fmt.Errorf("OnExpiring: the margin is %v: at most %v is possible, which is TTL %v less its own margin of %v, HeartbeatInterval %v and RequestTimeout %v, or each heartbeat would cause a warning",
			d.margin, most, c.TTL, lease.Margin(c.TTL), c.HeartbeatInterval, c.RequestTimeout)
	}
	return nil
}

// waiterMode returns the mode by which a waiter decides whether there is room.
func (s settings) waiterMode() serving.Mode {
	mode := s.mode
	if mode.Shared {
		mode.Readers = s.load(serving.MaxSharedData).MaxHolders()
	}
	return mode
}

// load returns what one holder with that data adds to its record.
func (s settings) load(data int) serving.Load {
	return serving.Load{Owner: len(s.Owner), Data: data, Interval: s.HeartbeatInterval}
}

// maxData returns the limit of each holder's data. Holders of one record must leave
// room for each other.
func (s settings) maxData() int {
	switch {
	case s.mode.Shared:
		return min(maxData, serving.MaxSharedData)
	case s.mode.Permits > 1:
		return max(0, s.load(0).MaxData(s.mode.Permits, maxData))
	}
	return maxData
}

func (s settings) holderTerms() lease.Terms {
	return lease.Terms{TTL: s.TTL, Interval: s.HeartbeatInterval, Margin: lease.Margin(s.TTL), Delay: s.delay, FailClosed: s.failClosed}
}

// grantTerms returns the terms of the lease with which a grant begins.
func (s settings) grantTerms() lease.Terms {
	terms := s.holderTerms()
	if s.failClosed {
		terms.TTL = waiter.Grace(s.RequestTimeout)
		terms.Margin = lease.Margin(terms.TTL)
	}
	return terms
}

// Progress is the place of a waiting Acquire, as its last look showed it.
type Progress struct {
	Key    Key
	Ticket ticket.Number
	// Position is the place among the waiters. 1 is next.
	Position int
	// TicketsAhead counts the earlier tickets that can still be served: waiters ahead,
	// waiters without a row yet, and some that have given up. With a wider
	// Config.Scope it is Position-1.
	TicketsAhead int
	// Serving is the holder with the lowest ticket, or nil.
	Serving *queue.Holder
	// Waited is the time for which Acquire has tried.
	Waited time.Duration
	// EstimatedWait is a guess from the rate of recent turns. Zero if no rate is known,
	// and if the turn may come at any time.
	EstimatedWait time.Duration
}

// progress returns the receiver of a waiter's Progress, which calls f; nil if f is nil.
func (c *Client) progress(calls *callback.Caller, f func(Progress), key Key, q table.Queue, begun time.Time) func(waiter.Progress) {
	if f == nil {
		return nil
	}
	key = key.normal()
	return func(w waiter.Progress) {
		p := Progress{
			Key: key, Ticket: w.Status.Ticket, Position: w.Status.Ahead + 1, TicketsAhead: w.Tickets,
			Serving: c.served(q, w.Status), Waited: time.Since(begun), EstimatedWait: w.Wait,
		}
		calls.Call(key, func() { f(p) })
	}
}

// served returns the holder that a waiter saw last, or nil. Its ages are of now.
func (c *Client) served(q table.Queue, last waiter.Status) *queue.Holder {
	return picture.Seen(q, last.Serving, c.observer, last.SeenAt)
}
