package play

import (
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

// clock answers what a member asks.
type clock struct {
	*player
	now time.Time
}

// rowTerms are those of the lease of a row.
func rowTerms(k *member.Kind) heartbeat.Terms {
	return heartbeat.Terms{TTL: k.RowTTL, Interval: k.RowTTL / 2, Margin: heartbeat.Margin(k.RowTTL)}
}

// terms are those of the lease of a holder.
func terms(k *member.Kind) heartbeat.Terms {
	return heartbeat.Terms{
		TTL: k.TTL, Interval: k.Interval, Margin: k.Margin, Delay: k.Delay, FailClosed: k.FailClosed, AtLeast: k.AtLeast,
	}
}

// grantTerms are those of a lease as it is granted: one that fails closed ends until it is confirmed.
func grantTerms(k *member.Kind) heartbeat.Terms {
	t := terms(k)
	if k.FailClosed {
		t.TTL, t.Margin = k.Grace, heartbeat.Margin(k.Grace)
	}
	return t
}

// Grace returns the lease of a fail-closed grant until it is confirmed. It must outlast the answer of the grant and a
// few attempts at CONFIRM, each of which may take requestTimeout: otherwise fail-closed waiters would evict each other
// without end where the network is slow. It is no longer, because other waiters wait for it after a crash. Two seconds
// leave room for the uncertainty of DynamoDB's clock, of about a second.
func Grace(requestTimeout time.Duration) time.Duration {
	return min(max(4*requestTimeout, 2*time.Second), queue.MaxLease)
}

func (c clock) Now() time.Time { return c.now }

func (c clock) At(local time.Time) (earliest, latest time.Time, known bool) {
	return c.queue.Clock().At(local)
}

func (c clock) Middle() time.Time { return c.queue.Clock().Middle(c.now) }

func (c clock) Begin(k *member.Kind, row bool) (queue.Lease, time.Time) {
	if row {
		return rowTerms(k).Begin(c.queue.Clock(), c.now)
	}
	return grantTerms(k).Begin(c.queue.Clock(), c.now)
}

func (c clock) Keeps(k *member.Kind) (l queue.Lease, since, ends time.Time) {
	t := heartbeat.Terms{TTL: k.Keep, Margin: heartbeat.Margin(k.Keep)}
	l, since = t.Begin(c.queue.Clock(), c.now)
	return l, since, t.Deadline(c.now)
}

func (c clock) Usable(k *member.Kind, l queue.Lease, sent time.Time, named bool) bool {
	t, rest := grantTerms(k), time.Duration(0)
	if named {
		t = rowTerms(k)
		rest = min(machine.AcceptAfter, t.TTL/4) // for the first heartbeat
	}
	return c.now.Add(rest).Before(t.Deadline(sent)) && t.OwnerEndsFirst(c.queue.Clock(), l.Until, sent, c.now)
}

func (c clock) Early(k *member.Kind, until, sent time.Time) bool {
	return !k.FailClosed && !terms(k).OwnerEndsFirst(c.queue.Clock(), until, sent, c.now)
}

func (c clock) Ends(k *member.Kind, sent time.Time, row bool) time.Time {
	switch {
	case row:
		return rowTerms(k).Deadline(sent)
	case k.FailClosed:
		return time.Time{}
	}
	return terms(k).Deadline(sent)
}

func (c clock) Leases(s queue.Snapshot) queue.Leases { return c.c.Observer.Leases(c.queue.Items, s) }

func (c clock) Names(readAt time.Time) bool { return c.now.Sub(readAt) <= waitpolicy.NamedWithin }

func (c clock) ID(int32) string { return random.Text(c.ctx) }

func (c clock) After(d time.Duration) time.Time { return c.now.Add(d) }

// Beats returns when a lease is renewed: after an interval, or soon after a failure, for some twenty attempts in half a
// lease.
func (c clock) Beats(t member.Timer, k *member.Kind, sent time.Time, named, failed bool) time.Time {
	row, own := t.Kind == member.Renews, terms(k)
	switch {
	case row:
		own = rowTerms(k)
	case own.Interval == 0: // the caller renews it
		return time.Time{}
	}
	f, draws := c.failing[t], c.draws(t)
	if failed {
		if f == nil {
			f = &failing{}
			c.series(t, f)
		}
		if f.beat == 0 {
			f.beat = own.TTL / 200
		} else {
			f.beat = min(2*f.beat, own.TTL/40)
		}
		return c.now.Add(random.Around(draws, f.beat))
	}
	delete(c.failing, t)
	wait, others := own.Interval, k.Mode.Permits > 1 || k.Mode.Shared || c.c.held() >= crowd
	if named && !row {
		wait, sent = min(wait, machine.AcceptAfter, k.RowTTL/8, rowTerms(k).Deadline(sent).Sub(c.now)/4), c.now
	} else if !row && others && c.now.Sub(sent) < wait/2 {
		wait -= time.Duration(random.Float64(draws) * float64(wait/2))
	}
	return sent.Add(wait - time.Duration(float64(wait)*heartbeat.Spread*random.Float64(draws)))
}

// draws has the random numbers of a timer: those of rows are not drawn between those of waits, whichever answer comes
// first.
func (p *player) draws(t member.Timer) context.Context {
	if t.Kind == member.Renews || t.Kind == member.Retries {
		b := p.m.Block(p.m.RowOf(t.Of))
		for i := range b.Callers {
			if k := p.caller(b.Callers.At(i)); k != nil {
				return k.rows
			}
		}
	}
	return p.ctx
}

// failing is a series of failures.
type failing struct {
	begun time.Time
	pause retry.Schedule
	beat  time.Duration
}

func (p *player) series(t member.Timer, f *failing) {
	if p.failing == nil {
		p.failing = map[member.Timer]*failing{}
	}
	p.failing[t] = f
}

// Pauses returns when a request that has failed is repeated. It is given up if that does not help, or has not for too
// long.
func (c clock) Pauses(t member.Timer, failed int, err error) (time.Time, bool) {
	if failed <= 1 {
		delete(c.failing, t)
	}
	switch t.Kind {
	case member.Pauses:
		wants := c.wantsOf(t.Of)
		at, more := c.pause(t, err, func(err error) bool { return table.Unanswered(err) || panicked(err) }, wants.Retry)
		keeps := wants.Wake != nil && errors.Is(err, c.c.hung) // others wait for the locks that its call has already
		return at, more && !wants.over(at) && !keeps
	case member.Retries:
		return c.pause(t, err, func(err error) bool {
			return table.Retryable.Retryable(err) || panicked(err)
		}, c.wantsOf(c.m.RowOf(t.Of)).Retry)
	case member.Attempts:
		return c.pause(t, err, func(error) bool { return true }, c.attempting(t.Of))
	}
	if c.isCut(t.Of) {
		return time.Time{}, false
	}
	at, more := c.pause(t, err, func(err error) bool { return table.Retryable.Retryable(err) || table.Renewable(err) }, 0)
	if l := c.lockOf(t.Of); l != nil {
		at = l.ender().inTime(at, c.now)
	}
	return at, more
}

// panicked reports whether a request has panicked. The first caller of its block has left by that, and others may wait.
func panicked(err error) bool { return errors.Is(err, errPanicked) }

// pause returns when the next attempt of a series is due, if an error is worth one, and failures have not gone on for
// as long as limit; zero: no limit.
func (p *player) pause(t member.Timer, err error, worth func(error) bool, limit time.Duration) (time.Time, bool) {
	now := time.Now()
	f := p.failing[t]
	if f == nil {
		f = &failing{begun: p.silentSince(t, now), pause: *retry.Between(50*time.Millisecond, 2*time.Second)}
		if errors.Is(err, p.c.hung) {
			f.begun = f.begun.Add(-p.c.Attention)
		}
		p.series(t, f)
	}
	if !worth(err) {
		delete(p.failing, t)
		return now, false
	}
	next, _ := f.pause.Next(p.draws(t))
	if at := now.Add(next); limit == 0 || at.Sub(f.begun) < limit {
		return at, true
	}
	delete(p.failing, t)
	return now, false
}

// wantsOf is how the callers of a block want the lock.
func (p *player) wantsOf(block int32) *Wants {
	b := p.m.Block(block)
	for i := range b.Callers {
		if k := p.caller(b.Callers.At(i)); k != nil {
			return k.wants
		}
	}
	return &Wants{} // they have left
}

// silentSince returns since when the table has not answered, for one that takes a ticket: since its first caller came,
// or since another was answered.
func (p *player) silentSince(t member.Timer, now time.Time) time.Time {
	if t.Kind != member.Pauses {
		return now
	}
	b := p.m.Block(t.Of)
	for i := range b.Callers {
		if k := p.caller(b.Callers.At(i)); k != nil && b.Ticket.IsZero() {
			return latest(k.since, p.answered)
		}
	}
	return now
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (c clock) Rests(block int32, w *machine.Wait) time.Time {
	s := c.sight(block)
	s.foresee(c.player, w)
	s.noteOwn(c.player, w)
	s.heeds = time.Time{}
	v := s.view(c.player, w)
	v.Rung = s.heard.Rung(s.rings(w, w.Snapshot.Record.Holders) || s.foreseen && !w.Next())
	draw := func() float64 { return random.Float64(c.ctx) }
	rest := s.pace.Delay(c.c.Schedule, v, draw)
	if lazy := c.wantsOf(block).Lazy; lazy != nil && lazy() {
		rest = s.pace.Lazily(c.c.Schedule, rest, draw)
	}
	at := c.now.Add(rest)
	if s.rang { // while it looked
		s.rang, at = false, s.heard.Heed(&s.pace, c.c.Schedule, at)
	}
	return at
}

func (c clock) Guesses(block int32, w *machine.Wait, woken bool) bool {
	s := c.sight(block)
	s.foresee(c.player, w)
	if woken {
		s.heard.Woken()
	}
	woken = woken || s.heard.Believed()
	s.heeds = time.Time{}
	return !s.expected(c.player, w) && (woken || !s.heldByOwn(c.player, w) &&
		s.pace.MayHaveEnded(w.Snapshot.Record, c.now))
}

// Reads returns when a holder that has waited reads the next row.
func (c clock) Reads(block int32) (at time.Time) {
	if s := c.sight(block); !s.reads.IsZero() {
		at = latest(s.reads, c.now)
	}
	return at
}

// attempting returns for how long attempts of the transaction of a block, or of its SETTLE, may fail; zero: no limit.
func (c clock) attempting(block int32) time.Duration {
	l := c.lockOf(block)
	if l == nil {
		return settleLimit
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if u := l.user().transaction(); u != nil && u.sent && u.timed.Err() == nil && l.called().release == nil {
		return 0
	}
	return l.user().settles()
}

var _ member.Clock = clock{}

// fork returns a context for another goroutine.
func (p *player) fork() context.Context { return random.Fork(p.ctx) }
