package play

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// over takes the end of a call that releases the lock.
func (l *Lock) over(r member.Report) {
	l.mu.Lock()
	from, now, c := l.phase, time.Now(), l.called()
	if l.phase.Held() { // until its update was made
		l.reason, l.since = l.p.c.Released, now
		l.keeper().stops(l.reason)
	}
	switch r.News {
	case member.Released:
		l.phase, l.followed = machine.PhaseReleased, r.Follows
	case member.Cleared:
		l.phase = machine.PhaseCleared
	case member.Unknown:
		l.phase, c.unknown = machine.PhaseUnknown, l.p.c.Unknown(l.p.queue, errOverwritten, nil, nil)
	}
	c.hidden, c.undone = r.Hidden != nil, nil
	if r.News == member.Unreleased {
		c.undone = &r
	}
	begun := l.since
	if l.phase.Final() {
		l.since = now
	}
	e := event.Released{Held: begun.Sub(l.start), Took: now.Sub(begun), Err: c.unknown}
	if l.phase.Final() {
		l.user().fails()
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
	if final {
		l.p.c.unlist(l)
		l.p.forgets(l.caller)
	} else {
		l.p.c.list(l) // a loss has taken it off the list, and the client's Close tries again
	}
	switch e.Origin = log.Origin(l.ticket); {
	case !final, from.Final(), wasLost:
	case lost != nil:
		notify.Send(log, event.Lost{Origin: e.Origin, Held: now.Sub(l.start), Cause: lost.Cause, Err: lost.Err})
	default:
		notify.Send(log, e)
	}
	if end := l.ender().takes(); end != nil {
		select {
		case end <- ended{r: r}:
		default: // a heartbeat has found that it was released before
		}
	}
}

var errOverwritten = errors.New("the lock is not in its record, and the mark that says how it ended was replaced, " +
	"or is gone with the record")

// forgets forgets a caller of whose lock nothing is left.
func (p *player) forgets(caller int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(caller)
}

// ends notes that a turn of the client has ended.
func (p *player) ends() {
	p.ended = time.Now()
	p.woken()
	p.c.Local.Ends(p.queue)
}

// Release releases the lock. It cancels the context of the lock before it sends a request. It returns nil if this call
// or an earlier one released the lock, and the reason if the lock was lost; what is left of it is removed. It returns
// Config.Unknown's error if the record does not show which. After any other error Release may be called again.
// Transient failures are repeated until the lease ends, or for Config.Timeout after ctx.
func (l *Lock) Release(ctx context.Context) error { return l.ender().releases(ctx, member.Releases{}) }

// GiveBack releases a lock that its caller does not get. An error reports that the lock may still be in the table.
func (l *Lock) GiveBack(ctx context.Context) error {
	err := l.ender().releases(ctx, member.Releases{Unused: true})
	stays := max(l.terms().Delay, l.granted.atLeast)
	switch {
	case err == nil, l.Final():
		return nil
	case stays == 0:
		return err
	}
	return fmt.Errorf("queuelock: %s ticket %s was lost before it was returned, and may keep its queue closed for %v: %w",
		l.name(), l.ticket, stays, err)
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
		if is := p.m.For(of); is.Caller == l.caller && (is.Purpose == member.Ending || is.Purpose == member.Transacting) {
			r.cancel()
		}
	}
}

// isCut reports whether the caller of the call that releases the lock of a block waits no longer.
func (p *player) isCut(block int32) bool {
	l := p.lockOf(block)
	return l != nil && l.ender().isCut()
}

// takes returns where a call awaits the end of the release, if one does: that of a panic has returned.
func (l ender) takes() chan ended {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.called()
	if c.raised {
		c.raised = false
		return nil
	}
	return c.end
}

// releases releases the lock.
func (l ender) releases(caller context.Context, e member.Releases) error {
	ctx, cancel := retry.Outlive(caller, l.p.c.Timeout)
	defer cancel()
	if err := l.enter(ctx, caller, "release"); err != nil {
		return err
	}
	defer l.done()
	if err := l.Err(); err != nil && e.Result != nil { // a lease that has run out is a loss, not a release
		return err
	}
	if !l.releasing(ctx) {
		return cmp.Or(l.result(), l.outlasted())
	}
	end := l.play(ctx, e)
	if l.current().Final() {
		return l.result()
	}
	return l.unreleased(end.r, caller.Err())
}

// enter begins a call that releases the lock, once no other one is under way.
func (l ender) enter(ctx, caller context.Context, what string) error {
	for busy := l.begin(); busy != nil; busy = l.begin() {
		select {
		case <-busy:
		case <-ctx.Done():
			return fmt.Errorf("queuelock: %s: %s: another release is still under way: %w", l.name(), what, caller.Err())
		}
	}
	return nil
}

// play lets the member release the lock, and returns what has become of that.
func (l ender) play(ctx context.Context, e member.Releases) ended {
	defer context.AfterFunc(ctx, func() { l.p.happens(cut{l: l.Lock}) })()
	e.Caller = l.caller
	l.p.happens(e)
	end := <-l.awaits()
	if end.end != nil {
		end.end()
	}
	return end
}

// begin begins a call that releases the lock, unless another one is under way: then it returns what is closed with
// that.
func (l ender) begin() (busy chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.called()
	if c.busy == nil {
		c.busy, c.end, c.raised = make(chan struct{}), make(chan ended, 1), false
		return nil
	}
	return c.busy
}

// done ends it.
func (l ender) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.called()
	close(c.busy)
	c.busy, c.end = nil, nil
	l.keeper().outlives()
}

func (l ender) awaits() chan ended {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.called().end
}

// releasing begins a call of Release. It reports whether there is anything to do.
func (l ender) releasing(ctx context.Context) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase.Final() || l.gone {
		return false
	}
	c := l.called()
	if c.release, c.cause = ctx, nil; l.phase.Held() {
		l.phase, l.reason, l.since = machine.PhaseReleasing, l.p.c.Released, time.Now()
		l.keeper().stops(l.reason)
	}
	return true
}

// outlasted returns the error of a lock that no call has released, and whose lease has ended.
func (l ender) outlasted() error {
	l.mu.Lock()
	gone, r := l.gone, l.called().undone
	l.mu.Unlock()
	if !gone || r == nil {
		return nil
	}
	return l.unreleased(*r, nil)
}

// result returns the result of Release in a final phase.
func (l ender) result() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loss != nil {
		return l.reason
	}
	return l.called().unknown
}

// unreleased returns the error of a Release after which the lock may still be in the table. ended is that of its
// caller's context, without whose end the release would have gone on.
func (l ender) unreleased(r member.Report, ended error) error {
	l.mu.Lock()
	var loss error
	if l.loss != nil {
		loss = l.reason
	}
	err := r.Err
	if errors.Is(err, context.DeadlineExceeded) {
		err = cmp.Or(l.called().cause, err)
	}
	l.mu.Unlock()
	if ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w (%w)", err, ended)
	}
	if l.terms().FailClosed {
		return &UnreleasedError{Queue: l.p.queue, Ticket: l.ticket, Err: err, Loss: loss}
	}
	if r.Hidden != nil {
		return fmt.Errorf("queuelock: release %s: no lease ends it, call Release again: %w: %w", l.name(),
			cmp.Or(loss, r.Hidden), err)
	}
	return fmt.Errorf("queuelock: release %s: its lease of %v ends it: %w", l.name(), l.terms().TTL, err)
}

// inTime returns when a release is repeated, at the latest when the lease ends, with which it is given up.
func (l ender) inTime(at, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.ends) && l.ends.Before(at) {
		return l.ends
	}
	return at
}

// failing notes why a request of a call has failed that releases the lock.
func (l ender) failing(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		l.called().cause = err
	}
}

func (l ender) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.called()
	return c.release != nil && (c.raised || c.release.Err() != nil)
}

// Publish is Release that also leaves a result in the record, both or neither. ttl is how long the result lives.
// Without DynamoDB's time it has no end that can be judged, and answers none but the callers that wait for it. Nil says
// that the result was left. It returns the reason if the lock has ended before.
func (l *Lock) Publish(ctx context.Context, value []byte, ttl time.Duration) error {
	result := queue.Result{Ticket: l.ticket, Value: bytes.Clone(value)}
	if earliest, _, known := l.p.queue.Clock().At(time.Now()); known {
		result.Until = earliest.Add(ttl)
	}
	return l.ender().releases(ctx, member.Releases{Result: &result})
}

// update is an update of the user's item with which the lock is released.
type update struct {
	users expression.Expression
	item  clause.Item // as the last answer has shown it
}

// ConditionError reports that the condition of an UpdateAndRelease was false. Nothing was written.
type ConditionError struct {
	Current clause.Item // without the lock's attributes
}

func (e *ConditionError) Error() string { return "the update's condition was false" }

const updateAndRelease = "update and release"

// UpdateAndRelease sends the caller's update of the item with the record, and the release, in one request. asks reports
// that the update has a condition. It returns the item as it is afterwards, without the lock's attributes. The lock is
// held until the update is known to be made. Returns Config.Unknown's error if the update may have been made, or may
// yet be, and Config.Released also if an earlier call has released the lock. With any other error, such as
// *ConditionError, nothing was written.
func (l *Lock) UpdateAndRelease(ctx context.Context, users expression.Expression, asks bool) (clause.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("queuelock: %s: %s: nothing was sent: %w", l.name(), updateAndRelease, err)
	}
	if err := l.ender().enter(ctx, ctx, updateAndRelease); err != nil {
		return nil, err
	}
	defer l.ender().done()
	if err := cmp.Or(l.Err(), context.Cause(l.p.c.Closed)); err != nil {
		return nil, err
	}
	held, cancel := l.Within(ctx)
	defer cancel()
	defer context.AfterFunc(l.p.c.Closed, cancel)()
	u := &update{users: users}
	l.mu.Lock()
	c := l.called()
	c.release, c.update = held.(lockContext).Context, u // that does not read the clock
	l.mu.Unlock()
	r := l.ender().play(held, member.Releases{Update: true, Asks: asks}).r
	l.mu.Lock()
	item := l.p.queue.Home.Strip(u.item)
	if c.update = nil; l.phase.Held() {
		c.release = nil
	}
	l.mu.Unlock()
	err := r.Err
	switch r.Result {
	case machine.HoldMade:
		return item, nil
	case machine.HoldEarlier:
		return nil, l.p.c.Released
	case machine.HoldLost:
		return nil, l.Err()
	case machine.HoldDeclined:
		err = &ConditionError{Current: item}
		if !r.Open {
			return nil, err
		}
	case machine.HoldOverwritten: // or the item was deleted
		err = errOverwritten
	}
	if r.Open {
		return nil, l.p.c.Unknown(l.p.queue, err, ctx.Err(), l.Err())
	}
	return nil, l.failed(ctx, updateAndRelease, err)
}

// updates sends a release with an update.
func (l ender) updates(ctx context.Context, q table.Queue, s member.Send) (a member.Answer) {
	l.mu.Lock()
	u := l.called().update
	l.mu.Unlock()
	a.Record, a.Reply, a.Err = requests.SendWith(ctx, q, s.Write, u.users)
	l.mu.Lock()
	u.item = a.Record.Item
	l.mu.Unlock()
	return a
}

// declined takes the end of an update after which the lock is held, or was lost before.
func (l ender) declined(r member.Report) {
	if end := l.takes(); end != nil {
		end <- ended{r: r}
	}
}
