package queuelock

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/callback"
	"github.com/queuelock/queuelock/internal/load"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/oncecall"
	"github.com/queuelock/queuelock/internal/play"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// AcquireOption changes one Acquire, Do, AcquireAll or Resume. Each [Option] is one. Nil changes nothing. Acquire
// returns an error and sends nothing if an option is invalid.
type AcquireOption interface{ change(*settings) }

// Option changes one Acquire, as each [AcquireOption] does, and LockItem and package once take it, too.
type Option interface {
	AcquireOption
	item()
}

type option func(*settings)

func (o option) change(s *settings) { o(s) }

type itemOption func(*settings)

func (o itemOption) change(s *settings) { o(s) }
func (itemOption) item()                {}

// settings are the Config of a client, changed for one call.
type settings struct {
	*Config       // of the client, which is not to be changed: see own
	*special      // what options say; ordinary, which is not to be changed, if there are none
	ownTTL   bool // WithTTL was given
	changed  bool // options were given
	second   bool // see again
	begun    time.Time
	wait     waitpolicy.Wait // of the call
	queue    table.Queue     // of the call
	log      *notify.Log     // of the call in that queue
}

// ordinary is common to all calls without options, so that many may wait in little memory.
var ordinary = &special{}

// special is what options say.
type special struct {
	resume *queue.Handle   // nil: the call is not Resume
	once   *oncecall.Call  // see oncecall.Option; nil: the call waits for the lock alone
	wanted *machine.Wanted // the same

	data                   []byte
	mode                   queue.Mode
	delay, atLeast         time.Duration
	closes                 bool // HoldAtLeast or Every was given
	failClosed, createItem bool
	noHeartbeat            bool
	keep                   *time.Duration // nil: no place is kept
	maxWaiters             *int           // nil: no limit
	supersede              *superseding   // nil: none
	warnings               []warning
	progress               func(Progress)
	placed                 func(Handle)
}

// warning is one OnExpiring.
type warning struct {
	margin time.Duration
	call   func(*Lock)
}

// WithTTL sets Config.TTL for one lock. HeartbeatInterval stays as it was set, but is at most half of ttl, and half of
// it if it was not set. RequestTimeout is at most a quarter of ttl.
func WithTTL(ttl time.Duration) Option {
	return itemOption(func(s *settings) { s.own().TTL, s.ownTTL = ttl, true })
}

// WithOwner sets Config.Owner for one lock. Empty means that of the client.
func WithOwner(owner string) Option {
	return itemOption(func(s *settings) { s.own().Owner = cmp.Or(owner, s.Owner) })
}

// WithData publishes data of the holder while the lock is held, as Holder.Data of Inspect and
// [*NotAcquiredError]. At most 4096 bytes, 256 with Shared, and less with many Permits. The bytes are copied.
func WithData(data []byte) Option {
	data = bytes.Clone(data)
	return itemOption(func(s *settings) { s.data = data })
}

// Shared makes the lock a reader's. Readers hold it together, and a writer, which does not use this option,
// holds it alone. All wait in one queue, so readers never starve writers. At most 500 readers hold together,
// about 180 at the default HeartbeatInterval. There is no upgrade to a writer. Holders of lower tickets may
// still be there: fence readers with Lock.Condition, not by the highest ticket.
func Shared() AcquireOption { return option(func(s *settings) { s.mode.Shared = true }) }

// Permits makes the queue a semaphore of n, 1 to 500: up to n hold at once, in the order of their tickets. [Lock.Slot]
// says which of the n a holder has. The first use of a queue fixes n, and another kind is a [*queue.MismatchError]. It
// excludes Shared, whose rule about tickets applies. Heartbeats may need half of a partition's capacity: n is at most
// about 260 at the default interval. docs/costs.md has the formula.
func Permits(n int) AcquireOption {
	if n == 0 {
		n = noPermits
	}
	return option(func(s *settings) { s.mode.Permits = n })
}

// noPermits is in the mode of Permits(0), which is invalid. The mode of zero permits is that of a lock.
const noPermits = math.MinInt

// permitsOption names the option of a mode.
func permitsOption(m queue.Mode) string {
	if m.Permits == noPermits {
		return "Permits(0)"
	}
	return fmt.Sprintf("Permits(%d)", m.Permits)
}

// LockDelay keeps the queue closed for d after the lease of a lost lock has ended, for a resource without a
// fencing token: requests of the former holder may still be on their way. A release opens the queue at once, as
// does Operator.Evict. Shared and Permits admit others beside the lost holder as beside a live one. At most 24 h,
// in whole milliseconds.
func LockDelay(d time.Duration) Option { return itemOption(func(s *settings) { s.delay = d }) }

// FailClosed takes the lock without a lease. Only Release or Operator.Evict ends it: if its holder crashes, all wait
// until an operator has looked. Use it where two holders at once are worse than none and the resource checks no token.
//
// The holder has no deadline, but its heartbeats report an eviction. A Release without an answer returns
// [*UnreleasedError], and so does an Acquire that could not take back its grant. It excludes OnExpiring,
// LockDelay and Client.Resume.
func FailClosed() AcquireOption { return option(func(s *settings) { s.failClosed = true }) }

// NoHeartbeat sends no heartbeats, for a process that is frozen between calls, as in AWS Lambda. The lock is lost
// when TTL less its margin has passed, with the cause Expired, unless Lock.Extend renews it: choose a TTL longer
// than the deadline of the work, and release before the freeze. An eviction shows only in Extend and in writes:
// fence them, as a process that was thawed may believe that it still holds the lock. FailClosed excludes it.
func NoHeartbeat() Option { return itemOption(func(s *settings) { s.noHeartbeat = true }) }

// CreateItem lets LockItem create a missing item, with only its key and the lock's attributes. A late copy of
// the request may create an item again that was deleted meanwhile.
func CreateItem() Option { return itemOption(func(s *settings) { s.createItem = true }) }

// OnProgress calls f with the queue position when Acquire begins to wait, and after each look that changes what
// [Progress] shows. NoWait and an idle lock never call f. The last OnProgress counts. One goroutine at a time
// calls f, with the latest Progress. Acquire waits up to one second for the call under way, and Close waits for
// it, so f must not call Close. A panic of f ends the wait and continues in the caller of Acquire.
func OnProgress(f func(Progress)) Option { return itemOption(func(s *settings) { s.progress = f }) }

// The bounds of KeepPlace.
const (
	minKeep = 15 * time.Second
	maxKeep = 24 * time.Hour
)

// KeepPlace keeps the place for d, 15 s to 24 h, if the wait or ctx ends before the lock is granted. [Client.Resume]
// goes on by the [Handle] in the [*NotAcquiredError], with the same ticket, in any process. [Client.Leave] gives the
// place up. A lock that was granted as the wait ended is returned.
//
// Once the place is next, the others wait for it until d is over. MaxWaiters and Supersede count it as a waiter. NoWait
// and FailClosed exclude it.
func KeepPlace(d time.Duration) AcquireOption { return option(func(s *settings) { s.keep = &d }) }

// OnHandle calls f with the handle of the place in the queue, to be saved for Client.Resume. Acquire and Resume enter
// the queue after f has returned. If the lock is idle, f is not called: save Lock.Handle instead. The other rules of
// OnProgress apply.
func OnHandle(f func(Handle)) AcquireOption { return option(func(s *settings) { s.placed = f }) }

// OnExpiring calls f when Lock.Remaining falls to margin, because renewals failed or the process was paused.
// The lock may still be renewed: stop long work and save results. f runs in its own goroutine, once until a
// renewal succeeds, and may find the lock lost. Close waits for f, so f must not call Close. Each OnExpiring
// counts. margin is more than zero and at most TTL less its own margin, and without NoHeartbeat less
// HeartbeatInterval and RequestTimeout: 24.19 s by default.
func OnExpiring(margin time.Duration, f func(*Lock)) Option {
	return itemOption(func(s *settings) { s.warnings = append(s.warnings, warning{margin, f}) })
}

// with returns the client's Config as the options change it, for a call that does not wait.
func with[O AcquireOption](c *Client, opts []O) *settings {
	return change(&settings{Config: &c.cfg, special: ordinary}, c.interval, opts)
}

func change[O AcquireOption](s *settings, interval time.Duration, opts []O) *settings {
	s.begun = time.Now()
	for _, opt := range opts {
		if any(opt) != nil {
			if !s.changed {
				s.changed, s.special = true, &special{}
			}
			opt.change(s)
		}
	}
	if s.ownTTL {
		s.HeartbeatInterval = min(cmp.Or(interval, s.TTL/2), s.TTL/2)
		s.RequestTimeout = max(min(s.RequestTimeout, s.TTL/4), time.Millisecond)
	}
	return s
}

// own returns the Config, which is that of the call alone from now on.
func (s *settings) own() *Config {
	own := *s.Config
	s.Config = &own
	return s.Config
}

// validate checks the options together with the Config that they change. New has checked the Config alone.
func (s *settings) validate() error {
	if !s.changed {
		return nil
	}
	return s.validateChanged()
}

func (s *settings) validateChanged() error {
	if err := s.Config.validate(); err != nil {
		return err
	}
	switch m, load := s.mode, s.load(0); {
	case m.Permits < 0 || m.Permits > queue.MaxPermits:
		return fmt.Errorf("%s: between 1 and %d are possible", permitsOption(m), queue.MaxPermits)
	case m.Permits > 0 && m.Shared:
		return errors.New("Permits and Shared cannot be combined: a semaphore has no writers")
	case m.Permits > 1 && load.MaxData(m.Permits, maxData) < 0:
		units, _ := load.Units(m.Permits)
		return fmt.Errorf("Permits(%d) with HeartbeatInterval %v needs %.0f write units a second for heartbeats, "+
			"500 are possible: an interval of at least %v is needed",
			m.Permits, s.HeartbeatInterval, units, load.MinInterval(m.Permits))
	}
	data := validData("WithData", s.data, s.maxData())
	return cmp.Or(data, s.validEnd(), s.validAtLeast(), s.validWarnings(), s.validPolicy())
}

// validEnd checks how the lock may end without a release.
func (s *settings) validEnd() error {
	switch {
	case s.delay < 0 || s.delay > queue.MaxDelay:
		return fmt.Errorf("LockDelay is %v: between 0 and %v are possible", s.delay, queue.MaxDelay)
	case s.delay%time.Millisecond != 0:
		return fmt.Errorf("LockDelay is %v: whole milliseconds are needed", s.delay)
	case s.failClosed && len(s.warnings) > 0:
		return errors.New("FailClosed and OnExpiring cannot be combined: a lock without a lease has no deadline")
	case s.failClosed && s.noHeartbeat:
		return errors.New("FailClosed and NoHeartbeat cannot be combined: " +
			"a lock without a lease learns of an eviction by its heartbeats")
	case s.failClosed && s.delay > 0:
		return errors.New("FailClosed and LockDelay cannot be combined: a lock without a lease is not lost by itself")
	case s.keep != nil && (*s.keep < minKeep || *s.keep > maxKeep):
		return fmt.Errorf("KeepPlace(%v): between %v and %v are possible", *s.keep, minKeep, maxKeep)
	case s.keep != nil && s.wait.IsNoWait():
		return errors.New("KeepPlace and NoWait cannot be combined: who does not wait has no place")
	case s.keep != nil && s.failClosed:
		return errors.New("KeepPlace and FailClosed cannot be combined: a lock without a lease is not resumed")
	case s.failClosed && s.resume != nil:
		return errors.New("Resume and FailClosed cannot be combined: a lock without a lease is not resumed")
	}
	return nil
}

func (s *settings) validWarnings() error {
	most, less := s.TTL-heartbeat.Margin(s.TTL), "" // what is left when a renewal is confirmed at its latest
	if !s.noHeartbeat {
		most -= s.HeartbeatInterval + s.RequestTimeout
		less = fmt.Sprintf(", HeartbeatInterval %v and RequestTimeout %v, or each heartbeat would cause a warning",
			s.HeartbeatInterval, s.RequestTimeout)
	}
	for _, w := range s.warnings {
		switch {
		case w.call == nil:
			return errors.New("OnExpiring: the function is nil")
		case w.margin <= 0:
			return fmt.Errorf("OnExpiring: the margin is %v: more than zero is needed", w.margin)
		case w.margin > most:
			return fmt.Errorf("OnExpiring: the margin is %v: at most %v is possible, "+
				"which is TTL %v less its own margin of %v%s", w.margin, most, s.TTL, heartbeat.Margin(s.TTL), less)
		}
	}
	return nil
}

// maxData keeps the serving record small: its size sets the price of each write.
const maxData = 4096

func validData(what string, data []byte, most int) error {
	switch {
	case len(data) > maxData:
		return fmt.Errorf("%s: %d bytes: at most %d are possible", what, len(data), maxData)
	case len(data) > most:
		return fmt.Errorf("%s: %d bytes: at most %d are possible with that many other holders", what, len(data), most)
	}
	return nil
}

// maxData returns the limit of each holder's data. Holders of one record must leave room for each other.
func (s *settings) maxData() int {
	switch {
	case s.mode.Shared: // others count with that much, and do not know the group
		return queue.MaxSharedData - len(s.policy().Group)
	case s.mode.Permits > 1:
		return max(0, s.load(0).MaxData(s.mode.Permits, maxData))
	}
	return maxData
}

// load returns what one holder with that data adds to its record.
func (s *settings) load(data int) load.Holder {
	return load.Holder{Owner: len(s.Owner) + len(s.policy().Group), Data: data, Interval: s.HeartbeatInterval}
}

// waiterMode returns the mode by which a waiter decides whether there is room.
func (s *settings) waiterMode() queue.Mode {
	mode := s.mode
	if mode.Shared {
		mode.Readers = s.load(s.maxData()).MaxHolders()
	}
	return mode
}

// wants returns how a call wants the lock.
func (c *Client) wants(s *settings, calls *callback.Caller) *play.Wants {
	if tries, _ := s.patience().Tries(); !s.changed && tries == 0 && s.queue.Home == nil {
		return &c.plain
	}
	w := &play.Wants{Retry: max(s.TTL, minRetryTimeout)}
	s.fill(&w.Kind)
	if s.placed != nil {
		w.Saves = func(h queue.Handle) <-chan struct{} { return s.saves(calls, h) }
	}
	return w
}

// fill says to the member what the caller wants.
//
//   - A grant by name has what the row shows, and the rest of the row's lease, at least a fifteenth. So the row's
//     lease must not be longer than the lock's own, and its rest must not cause a warning at once.
func (s *settings) fill(k *member.Kind) {
	tries, _ := s.patience().Tries()
	k.Owner, k.Data, k.Mode, k.NoWait, k.Policy = s.Owner, string(s.data), s.waiterMode(), tries > 0, s.policy()
	k.TTL, k.Margin, k.Interval, k.RowTTL = s.TTL, heartbeat.Margin(s.TTL), s.HeartbeatInterval, s.WaiterTTL
	k.Delay, k.AtLeast, k.FailClosed, k.Resume, k.Wanted = s.delay, s.atLeast, s.failClosed, s.resume, s.wanted
	k.Scope, k.Home, k.Create, k.Saves = s.Scope, s.queue.Home != nil, s.createItem, s.placed != nil
	if s.keep != nil && !k.NoWait {
		k.Keep = *s.keep
	}
	k.Whole = s.noHeartbeat || s.ownTTL && s.WaiterTTL > s.TTL ||
		slices.ContainsFunc(s.warnings, func(w warning) bool { return w.margin > s.WaiterTTL/16 })
	if s.noHeartbeat {
		k.Interval = 0
	}
	if s.failClosed {
		k.Grace = play.Grace(s.RequestTimeout)
	}
}

// margins returns those of the warnings.
func (s *settings) margins() (all []time.Duration) {
	for _, w := range s.warnings {
		all = append(all, w.margin)
	}
	return all
}

// saves calls the caller's function with the handle of a place. The channel is closed once it has returned.
func (s *settings) saves(calls *callback.Caller, h queue.Handle) <-chan struct{} {
	returned := make(chan struct{})
	calls.Call(nil, func() { s.placed(newHandle(keyOf(s.queue), s.mode, h)); close(returned) })
	return returned
}

// Progress is the place of a waiting Acquire, as its last look showed it.
type Progress struct {
	Key    Key
	Ticket ticket.Number
	// Position is the place among the waiters: each ticket of a block is one, and those of the block that holds are
	// places only to its own callers. 1 is next.
	Position int
	// TicketsAhead counts the earlier tickets that can still be served: waiters ahead, waiters without a row
	// yet, and some that have given up, but not those of the block that holds. With a wider Config.Scope it is Position-1.
	TicketsAhead int
	// Serving is the holder with the lowest ticket, or nil.
	Serving *queue.Holder
	// Own is the lowest ticket with which this Client itself holds the lock, or zero. The wait then ends only after
	// this process has released it: locks are not reentrant.
	Own ticket.Number
	// Waited is the time for which Acquire has tried.
	Waited time.Duration
	// EstimatedWait is a guess from the rate of recent turns, if Estimated is true: else none is known. Zero then
	// means that the turn may come at any time.
	EstimatedWait time.Duration
	Estimated     bool
}

// progress returns what receives the changes of a wait, nil if there is no receiver.
func (c *Client) progress(cfg *settings, calls *callback.Caller) func(play.Progress) {
	if cfg.progress == nil && !cfg.log.Observed() {
		return nil
	}
	return c.report(cfg, calls)
}

func (c *Client) report(cfg *settings, calls *callback.Caller) func(play.Progress) {
	key := keyOf(cfg.queue)
	var queued ticket.Number // the last
	return func(w play.Progress) {
		p := Progress{
			Key: key, Ticket: w.Status.Ticket, Position: w.Status.Ahead + 1, TicketsAhead: w.Tickets,
			Serving: w.Status.Served(cfg.queue, c.observer), Own: c.own(w.Status), Waited: time.Since(cfg.begun),
			EstimatedWait: w.Wait.Wait, Estimated: w.Wait.Known,
		}
		if cfg.progress != nil {
			calls.Call(key, func() { cfg.progress(p) })
		}
		place := event.Queued{Origin: cfg.log.Origin(p.Ticket), Ahead: w.Status.Ahead, Serving: p.Serving}
		if queued == p.Ticket {
			notify.Send(cfg.log, event.Moved(place))
		} else {
			queued = p.Ticket
			notify.Send(cfg.log, place)
		}
	}
}

// own returns the lowest ticket that this client itself holds, of the holders that a waiter saw last; zero if none.
func (c *Client) own(last play.Status) ticket.Number {
	for _, h := range last.Serving { // in the order of tickets
		if own := c.players.Ticket(h.ID); !own.IsZero() {
			return own
		}
		if last.Kept {
			return h.Turn()
		}
	}
	return ticket.Number{}
}
