package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Lock is one turn, from its grant to its end. Its methods are safe for concurrent use.
type Lock struct {
	p         *player
	k         *Caller
	id        string // of the entry
	ticket    ticket.Number
	unsettled bool
	start     time.Time     // of the turn
	idle      time.Duration // how long the lock was idle before
	ctx       lockContext
	granted   *granted // as it was

	mu sync.Mutex // guards the fields below
	state
	lease
	ending
	calls
	revoked  revoked
	warnings *warnings // nil: there are none
	update   *update   // under way; nil: none is
}

// state is what a lock has come to.
type state struct {
	phase    queue.Phase
	since    time.Time            // of the phase
	reason   error                // why it is not held; nil while it is
	loss     *heartbeat.LossError // how it was lost; nil if it was not
	unknown  error                // of the phase Unknown
	followed bool                 // a later turn has it
}

// lease is that of a lock.
type lease struct {
	ends    time.Time
	failure error        // of the last renewal since the last success
	beating bool         // a renewal is under way
	extends []chan error // whose renewal is to be sent
	sent    []chan error // whose renewal is under way
}

// ending is what calls have come to that release a lock.
type ending struct {
	busy    chan struct{}   // closed with the call that releases the lock; nil: none is under way
	end     chan ended      // of that call
	release context.Context // of the present or last call; nil: there was none
	raised  bool            // it has ended by a panic of its request
	hidden  bool            // it has left an entry that no lease ends
	undone  *member.Report  // it has not released the lock
	gone    bool            // whose lease has ended since
	cause   error           // of the last request that has failed; one that the deadline has cut short says less than that before
}

// calls are those that use a lock.
type calls struct {
	using  []*use
	count  int32
	last   *use          // transaction that was sent, and has ended
	fence  *clause.Write // the last
	shared bool
}

// ended is what has become of a call that releases the lock.
type ended struct {
	r   member.Report
	end func() // a panic
}

// lockContext is a context that ends with a lock. Its Err reads the clock, as a process that was paused may call it before its timers
// fire.
type lockContext struct {
	context.Context
	lock   *Lock
	cancel context.CancelCauseFunc
}

func (c lockContext) Err() error {
	if err := c.lock.Err(); err != nil {
		c.cancel(err)
	}
	return c.Context.Err()
}

// lock makes the lock of a turn.
func (p *player) lock(k *Caller, e member.Give) *Lock {
	now := time.Now()
	l := &Lock{
		p: p, k: k, id: e.ID, ticket: e.Ticket, unsettled: e.Unsettled, start: e.Sent, granted: alike,
		state: state{since: now}, lease: lease{ends: e.Ends},
	}
	inner, cancel := context.WithCancelCause(k.values())
	l.ctx = lockContext{inner, l, cancel}
	for b := range p.m.Blocks() {
		if b.ID != e.ID {
			continue
		}
		if s := p.sights[b.N]; s != nil {
			l.idle, l.granted = s.handover, cmp.Or(s.granted, alike)
			l.shared = l.granted.mode.Shared
		}
		if b.Ticket != e.Ticket && !p.ended.IsZero() && p.ended.After(e.Sent) { // in memory, after another turn
			l.idle, l.start = max(1, now.Sub(p.ended)), now
		}
	}
	return l
}

func (l *Lock) name() fmt.Stringer { return l.p.c.Name(l.p.queue) }

// begins reports whether the turn may begin: its lease has not ended.
func (l *Lock) begins() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends.IsZero() || time.Now().Before(l.ends)
}

// Queue returns the queue of the lock.
func (l *Lock) Queue() table.Queue { return l.p.queue }

// Ticket returns the fencing token.
func (l *Lock) Ticket() ticket.Number { return l.ticket }

// Mode returns how it was acquired.
func (l *Lock) Mode() queue.Mode { return l.granted.mode }

// AtLeast returns for how long the queue stays closed after the grant.
func (l *Lock) AtLeast() time.Duration { return l.granted.atLeast }

// Item returns the user's item that the record is kept on, as the grant has left it.
func (l *Lock) Item() clause.Item { return l.granted.item }

// Result returns the result that the record had as it was granted.
func (l *Lock) Result() queue.Result { return l.granted.result }

// terms are those of its lease.
func (l *Lock) terms() heartbeat.Terms { return terms(&l.k.wants.Kind) }

// Handover returns for how long the lock was idle before the turn. Zero: that is not known.
func (l *Lock) Handover() time.Duration { return l.idle }

// Unsettled reports whether a fenced transaction of an earlier turn may become visible while this lock is held.
func (l *Lock) Unsettled() bool { return l.unsettled }

// Context returns a context that is cancelled when the lock is lost or released, with the reason as its cause.
func (l *Lock) Context() context.Context { return l.ctx }

// Within derives a context from ctx that also ends with the lock.
func (l *Lock) Within(ctx context.Context) (context.Context, func()) {
	inner, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return lockContext{inner, l, cancel}, func() { unhook(); cancel(nil) }
}

// current returns the phase without reading the clock.
func (l *Lock) current() queue.Phase {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase
}

// Final reports whether nothing of the lock is left, so far as is known.
func (l *Lock) Final() bool { return l.current().Final() }

// Err returns nil while the lock is held, and then the reason why it is not. It reads the clock.
func (l *Lock) Err() error {
	l.mu.Lock()
	var send func()
	if now := time.Now(); l.phase.Held() && !l.ends.IsZero() && !now.Before(l.ends) {
		loss := &heartbeat.LossError{Cause: heartbeat.Expired}
		if l.failure != nil || l.beating {
			loss = &heartbeat.LossError{Cause: heartbeat.Unreachable, Err: l.failure}
		}
		send = l.lose(loss)
	}
	reason := l.reason
	l.mu.Unlock()
	if send != nil {
		send()
	}
	return reason
}

// lose ends a lock that is lost. What it returns is called without l.mu, which is held.
func (l *Lock) lose(loss *heartbeat.LossError) func() {
	l.loss, l.phase, l.since = loss, queue.PhaseLost, time.Now()
	l.reason = l.p.c.Lost(l.p.queue, l.ticket, loss)
	l.stops(l.reason)
	held := l.since.Sub(l.start)
	if _, malformed := errors.AsType[*queue.MalformedError](loss); !malformed { // else only a call of Release removes the entry
		time.AfterFunc(max(0, time.Until(l.ends))+l.stays(), l.outlived)
	}
	return func() {
		l.p.c.unlist(l)
		log := l.k.log
		notify.Send(log, event.Lost{Origin: log.Origin(l.ticket), Held: held, Cause: loss.Cause, Err: loss.Err})
	}
}

// stops ends what depends on the lock. l.mu is held.
func (l *Lock) stops(reason error) {
	l.ctx.cancel(reason)
	for _, c := range append(l.extends, l.sent...) {
		c <- reason
	}
	l.extends, l.sent = nil, nil
}

// Remaining returns the time until the lease expires locally if no further renewal succeeds.
func (l *Lock) Remaining() time.Duration {
	if l.Err() != nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left()
}

// left is Remaining of a lock that is held. l.mu is held.
func (l *Lock) left() time.Duration {
	if l.ends.IsZero() {
		return queue.Forever
	}
	return max(0, time.Until(l.ends))
}

// Extend renews the lease now. Calls that wait at the same time share one request.
func (l *Lock) Extend(ctx context.Context) error {
	if err := l.Err(); err != nil {
		return err
	}
	c := make(chan error, 1)
	l.mu.Lock()
	if l.reason != nil {
		defer l.mu.Unlock()
		return l.reason
	}
	l.extends = append(l.extends, c)
	l.mu.Unlock()
	l.p.happens(member.Uses{Caller: l.k.id, Use: member.Extends})
	var err error
	select {
	case err = <-c:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("queuelock: extend %s: %w", l.name(), err)
	}
	return cmp.Or(l.Err(), err)
}

// beats notes that a renewal is sent.
func (l *Lock) beats() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beating = true
	l.sent, l.extends = append(l.sent, l.extends...), nil
}

// beaten notes the answer to a renewal.
func (l *Lock) beaten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beating = false
}

// renewed takes the present end of the lease.
func (l *Lock) renewed(r member.Report) {
	l.mu.Lock()
	sent := l.sent
	l.sent = nil
	left := time.Until(l.ends)
	switch {
	case r.Err == nil:
		l.ends, l.failure = r.Ends, nil
		l.warnings.arm(l)
	case l.failure == nil, l.ends.IsZero(), time.Now().Before(l.ends): // one that the deadline has cut short says less than that before
		l.failure = r.Err
	}
	l.mu.Unlock()
	if log, terms := l.k.log, l.terms(); r.Err == nil && log.Observed() {
		e := event.Renewed{Origin: log.Origin(l.ticket)}
		if !terms.FailClosed {
			e.Margin = left
			if terms.Interval > 0 && !r.Accepts {
				e.Lag = max(0, terms.TTL-terms.Margin-e.Margin-terms.Interval)
			}
		}
		notify.Send(log, e)
	}
	for _, c := range sent {
		c <- r.Err
	}
}

// reported takes a report of the member.
func (l *Lock) reported(r member.Report) {
	switch r.News {
	case member.Renewed:
		l.renewed(r)
	case member.Asked:
		l.asked(r.Mark)
	case member.Done, member.Failed, member.Unsure:
		l.used(r)
	case member.Lost:
		l.lost(r.Err)
	case member.Declined:
		l.declined(r)
	default:
		l.over(r)
	}
}

// lost takes a loss: by the clock, or by what an answer has shown.
func (l *Lock) lost(err error) {
	if l.Err() != nil {
		return
	}
	l.mu.Lock()
	if err == nil {
		err = fmt.Errorf("%w: it is not in the serving record", heartbeat.ErrEvicted)
	}
	send := l.lose(&heartbeat.LossError{Cause: heartbeat.Evicted, Err: err})
	l.mu.Unlock()
	l.p.ends()
	send()
}

// over takes the end of a call that releases the lock.
func (l *Lock) over(r member.Report) {
	l.mu.Lock()
	from, now := l.phase, time.Now()
	if l.phase.Held() { // until its update was made
		l.reason, l.since = l.p.c.Released, now
		l.stops(l.reason)
	}
	switch r.News {
	case member.Released:
		l.phase, l.followed = queue.PhaseReleased, r.Follows
	case member.Cleared:
		l.phase = queue.PhaseCleared
	case member.Unknown:
		l.phase, l.unknown = queue.PhaseUnknown, l.p.c.Unknown(l.p.queue, errOverwritten, nil, nil)
	}
	l.hidden, l.undone = r.Hidden != nil, nil
	if r.News == member.Unreleased {
		l.undone = &r
	}
	begun := l.since
	if l.phase.Final() {
		l.since = now
	}
	e := event.Released{Held: begun.Sub(l.start), Took: now.Sub(begun), Err: l.unknown}
	if l.phase.Final() {
		l.fails()
	}
	final, wasLost, unobserved := l.phase.Final(), l.loss != nil, errors.Is(l.reason, l.p.c.Released)
	if final && r.News == member.Cleared && !wasLost && unobserved { // it was lost while it was being released
		l.loss = &heartbeat.LossError{Cause: heartbeat.Evicted, Err: r.Err}
		l.reason = l.p.c.Lost(l.p.queue, l.ticket, l.loss)
	}
	lost := l.loss
	l.mu.Unlock()
	l.p.ends()
	log := l.k.log
	switch {
	case final:
		l.p.c.unlist(l)
	default:
		l.keepForClose()
	}
	switch e.Origin = log.Origin(l.ticket); {
	case !final, from.Final(), wasLost:
	case lost != nil:
		notify.Send(log, event.Lost{Origin: e.Origin, Held: now.Sub(l.start), Cause: lost.Cause, Err: lost.Err})
	default:
		notify.Send(log, e)
	}
	if final {
		l.p.forgets(l.k)
	}
	if end := l.takes(); end != nil {
		select {
		case end <- ended{r: r}:
		default: // a heartbeat has found that it was released before
		}
	}
}

// takes returns where a call awaits the end of the release, if one does: that of a panic has returned.
func (l *Lock) takes() chan ended {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.raised {
		l.raised = false
		return nil
	}
	return l.end
}

var errOverwritten = errors.New("the lock is not in its record, and the mark that says how it ended was replaced, or is gone with the record")

// keepForClose lets the client's Close try again, until the lease has ended.
func (l *Lock) keepForClose() {
	l.p.c.list(l) // a loss has taken it off the list
	l.mu.Lock()
	ends, hidden := l.ends, l.hidden
	l.mu.Unlock()
	if !hidden && !l.terms().FailClosed { // else nothing else ends it
		time.AfterFunc(time.Until(ends)+l.stays(), l.outlived)
	}
}

// stays returns for how long after its lease an entry may still be there for others.
func (l *Lock) stays() time.Duration {
	t := l.terms()
	return t.Margin + max(t.Delay, l.granted.atLeast)
}

// outlived forgets a lock that was not released, or was lost, and whose lease has ended.
func (l *Lock) outlived() {
	l.mu.Lock()
	if l.busy != nil || l.hidden { // a call is under way that releases it, or must
		l.mu.Unlock()
		return
	}
	l.gone = !l.phase.Final()
	gone := l.gone
	if gone {
		l.fails()
	}
	l.mu.Unlock()
	if gone {
		l.p.c.unlist(l)
		l.p.forgets(l.k)
		l.p.happens(member.Forgets{Caller: l.k.id})
	}
}

// forgets forgets a caller of whose lock nothing is left.
func (p *player) forgets(k *Caller) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(k.id)
}

// ends notes that a turn of the client has ended.
func (p *player) ends() {
	p.ended = time.Now()
	p.woken()
	p.c.Local.Ends(p.queue)
}

// Release releases the lock. It cancels the context of the lock before it sends a request. It returns nil if this call or an earlier
// one released the lock, and the reason if the lock was lost; what is left of it is removed. It returns Config.Unknown's error if the
// record does not show which. After any other error Release may be called again. Transient failures are repeated until the lease ends,
// or for Config.Timeout after ctx.
func (l *Lock) Release(ctx context.Context) error { return l.releaseBy(ctx, member.Releases{}) }

// GiveBack releases a lock that its caller does not get. An error reports that the lock may still be in the table.
func (l *Lock) GiveBack(ctx context.Context) error {
	err := l.releaseBy(ctx, member.Releases{Unused: true})
	stays := max(l.terms().Delay, l.granted.atLeast)
	switch {
	case l.Final():
		return nil
	case stays == 0:
		return err
	}
	return fmt.Errorf("queuelock: %s ticket %s was lost before it was returned, and may keep its queue closed for %v: %w", l.name(), l.ticket, stays, err)
}

// releaseBy releases the lock.
func (l *Lock) releaseBy(ctx context.Context, e member.Releases) error {
	ctx, cancel := retry.Outlive(ctx, l.p.c.Timeout)
	defer cancel()
	if err := l.enterEnd(ctx, "release"); err != nil {
		return err
	}
	defer l.done()
	if err := l.Err(); err != nil && e.Result != nil { // a lease that has run out is a loss, not a release
		return err
	}
	if !l.releasing(ctx) {
		return cmp.Or(l.result(), l.outlasted())
	}
	end := l.playEnd(ctx, e)
	if l.current().Final() {
		return l.result()
	}
	return l.unreleased(end.r)
}

// enterEnd begins a call that releases the lock, once no other one is under way.
func (l *Lock) enterEnd(ctx context.Context, what string) error {
	for busy := l.begin(); busy != nil; busy = l.begin() {
		select {
		case <-busy:
		case <-ctx.Done():
			return fmt.Errorf("queuelock: %s: %s: another release is still under way: %w", l.name(), what, ctx.Err())
		}
	}
	return nil
}

// playEnd lets the member release the lock, and returns what has become of that.
func (l *Lock) playEnd(ctx context.Context, e member.Releases) ended {
	defer context.AfterFunc(ctx, func() { l.p.happens(cut{l: l}) })()
	e.Caller = l.k.id
	l.p.happens(e)
	end := <-l.awaits()
	if end.end != nil {
		end.end()
	}
	return end
}

// begin begins a call that releases the lock, unless another one is under way: then it returns what is closed with that.
func (l *Lock) begin() (busy chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy == nil {
		l.busy, l.end, l.raised = make(chan struct{}), make(chan ended, 1), false
		return nil
	}
	return l.busy
}

// done ends it.
func (l *Lock) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.busy)
	l.busy, l.end = nil, nil
}

func (l *Lock) awaits() chan ended {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// releasing begins a call of Release. It reports whether there is anything to do.
func (l *Lock) releasing(ctx context.Context) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase.Final() || l.gone {
		return false
	}
	if l.release, l.cause = ctx, nil; l.phase.Held() {
		l.phase, l.reason, l.since = queue.PhaseReleasing, l.p.c.Released, time.Now()
		l.stops(l.reason)
	}
	return true
}

// outlasted returns the error of a lock that no call has released, and whose lease has ended.
func (l *Lock) outlasted() error {
	l.mu.Lock()
	gone, r := l.gone, l.undone
	l.mu.Unlock()
	if !gone || r == nil {
		return nil
	}
	return l.unreleased(*r)
}

// result returns the result of Release in a final phase.
func (l *Lock) result() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loss != nil {
		return l.reason
	}
	return l.unknown
}

// unreleased returns the error of a Release after which the lock may still be in the table.
func (l *Lock) unreleased(r member.Report) error {
	l.mu.Lock()
	var loss error
	if l.loss != nil {
		loss = l.reason
	}
	err := r.Err
	if errors.Is(err, context.DeadlineExceeded) {
		err = cmp.Or(l.cause, err)
	}
	l.mu.Unlock()
	outlasted := r.Result == queue.HoldOutlasted
	if outlasted {
		err = fmt.Errorf("queuelock: release %s: a transaction is still under way: %w", l.name(), err)
	}
	switch {
	case l.terms().FailClosed:
		return &UnreleasedError{Queue: l.p.queue, Ticket: l.ticket, Err: err, Loss: loss}
	case outlasted:
		return errors.Join(loss, err)
	}
	if r.Hidden != nil {
		return fmt.Errorf("queuelock: release %s: no lease ends it, call Release again: %w: %w", l.name(), cmp.Or(loss, r.Hidden), err)
	}
	return fmt.Errorf("queuelock: release %s: its lease of %v ends it: %w", l.name(), l.terms().TTL, err)
}

// UnreleasedError reports that a lock without a lease may still be in the table.
type UnreleasedError struct {
	Queue  table.Queue
	Ticket ticket.Number
	Err    error
	Loss   error // the reason if the lock was lost; else nil
}

func (e *UnreleasedError) Error() string {
	return fmt.Sprintf("ticket %s may still be in the table: %v", e.Ticket, e.Err)
}

func (e *UnreleasedError) Unwrap() []error {
	if e.Loss == nil {
		return []error{e.Err}
	}
	return []error{e.Loss, e.Err}
}

// cuts ends what a call that releases the lock has under way: its caller waits no longer.
func (p *player) cuts(l *Lock) {
	for _, t := range p.m.Timers() {
		if t.Kind == member.Repeats && p.isCut(t.Of) {
			p.step(member.Due{Timer: t.Timer})
		}
	}
	for of, r := range p.requests {
		if r == nil {
			continue
		}
		if is := p.m.For(of); is.Caller == l.k.id && (is.Purpose == member.Ending || is.Purpose == member.Transacting) {
			r.cancel()
		}
	}
}

// isCut reports whether the caller of the call that releases the lock of a block waits no longer.
func (p *player) isCut(block int32) bool {
	l := p.lockOf(block)
	return l != nil && l.isCut()
}

// lockOf returns the lock of the present turn of a block; nil: it has none.
func (p *player) lockOf(block int32) *Lock {
	if b := p.m.Block(block); b.Turn >= 0 {
		if k := p.caller(b.Callers.At(b.Turn)); k != nil {
			return k.lock
		}
	}
	return nil
}

// inTime returns when a release is repeated, at the latest when the lease ends, with which it is given up.
func (l *Lock) inTime(at, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.ends) && l.ends.Before(at) {
		return l.ends
	}
	return at
}

// failing notes why a request of a call has failed that releases the lock.
func (l *Lock) failing(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		l.cause = err
	}
}

func (l *Lock) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.release != nil && (l.raised || l.release.Err() != nil)
}

// calling returns the context of a request of the holder. It ends when the member does not await the answer any more: see abandon and
// cuts.
func (l *Lock) calling(values context.Context, is member.Purpose, settles bool) context.Context {
	if is != member.Transacting || !settles {
		return values
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	limited, cancel := context.WithCancel(values)
	soon := func() { time.AfterFunc(settleLimit, cancel) }
	if l.settles() == settleLimit {
		soon()
	} else {
		context.AfterFunc(l.using[0].timed, soon)
	}
	return limited
}

// settles returns how long SETTLE may take: little if no caller waits for it, or the turn ends. l.mu is held.
func (l *Lock) settles() time.Duration {
	if l.release != nil || len(l.using) == 0 || l.using[0].timed.Err() != nil {
		return settleLimit
	}
	return settleTimeout
}

// raise lets a call that waits end like that. It reports whether one does.
func (l *Lock) raise(end func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil && l.release != nil && !l.phase.Final() && !l.raised {
		l.raised = true
		l.end <- ended{end: end}
		return true
	}
	for _, u := range l.using {
		u.done <- used{end: end}
		return true
	}
	return false
}

// Handle returns the handle by which another process resumes the lock: that of no lock, if a later turn of the block has it.
func (l *Lock) Handle() queue.Handle {
	h := queue.Handle{ID: l.id[:strings.LastIndexByte(l.id, '-')], Ticket: l.ticket, Held: true}
	l.call(context.WithoutCancel(l.ctx.Context), member.Uses{Use: member.Reveals})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.followed {
		h.ID = strings.Repeat("0", len(h.ID))
	}
	return h
}
