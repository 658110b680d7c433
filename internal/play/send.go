package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// request is one that is under way.
type request struct {
	member.Request
	log     *notify.Log
	kind    *member.Kind // of its caller
	lock    *Lock        // that it is of
	sent    time.Time
	cancel  context.CancelFunc
	limited bool          // it was abandoned, or has a limit of its own
	deletes bool          // a row
	keeps   bool          // the same, which stays
	row     ticket.Number // that it is of
	ids     []string      // that it removes, and a lease ends otherwise
	write   bool          // else it is a look
	record  bool          // a look at the record alone
}

// wire sends the requests of a member, and takes their answers.
type wire struct{ *player }

func (p *player) wire() wire { return wire{p} }

// request begins one, in a goroutine of its own: a look, or a write.
func (p wire) request(of int, s *member.Send, do func(context.Context, table.Queue, *request) member.Answer) {
	r := &request{Request: p.m.For(of), sent: time.Now()}
	r.limited = r.Purpose == member.Background || r.Purpose == member.Cleaning
	settles := false
	if r.write = s != nil; r.write {
		r.row = s.Row
		if r.Purpose == member.Cleaning {
			r.ids = s.Leased
		}
		if at := p.sights[r.Block]; at != nil && s.Write.Kind == clause.Put && !at.put.IsZero() {
			at.put = time.Time{}
			p.c.Log.Warn("queuelock: a waiter lost its row and puts it again", "queue", p.queue.String(), "ticket", s.Row)
		}
		r.Caller, settles = cmp.Or(s.Caller, r.Caller), !s.Tx || s.Show
		r.deletes, r.keeps = s.Write.Kind == clause.Delete, s.Keeps
		r.limited = r.limited || r.deletes || r.keeps
	}
	ctx, q := p.ctx, p.queue
	if k := p.caller(r.Caller); k != nil {
		if ctx, q.Store, r.log = k.base, k.store, k.log; r.Purpose == member.Keeping {
			ctx = k.rows
		}
		ctx = random.Fork(ctx)
		r.kind = &k.wants.Kind
		if r.Purpose == member.Waiting {
			q.Store = k.bounded()
		}
		if home := q.Home; home != nil && home.Create != k.wants.Kind.Create {
			own := *home
			own.Create, q.Home = k.wants.Kind.Create, &own
		}
		if l := k.lock; l != nil {
			ctx, r.lock = l.user().calling(ctx, r.Purpose, settles), l
			if r.Purpose == member.Beating {
				l.keeper().beats()
			}
		}
	}
	ctx, r.cancel = context.WithCancel(ctx)
	unhook := func() bool { return true }
	if settles && r.Purpose == member.Transacting { // its context ends it, which the DynamoDB client may not heed
		unhook = context.AfterFunc(ctx, func() { time.AfterFunc(answerGrace, func() { p.happens(overdue{of: of, r: r}) }) })
	}
	if n := of + 1 - len(p.requests); n > 0 {
		p.requests = append(p.requests, make([]*request, n)...)
	}
	p.requests[of] = r
	p.c.Background(func() {
		var a member.Answer
		returned := false
		defer func() {
			unhook()
			r.cancel()
			if !returned { // the DynamoDB client has panicked
				p.happens(panics{of: of, r: r, value: recover()})
				return
			}
			a.Of = of
			p.happens(answer{a: a, r: r})
		}()
		a = do(ctx, q, r)
		returned = true
	})
}

// hangs returns the error of a request that does not return, although its time is over. It counts as one that was not
// answered: else its row would block all behind it for as long.
func hangs(c Config) error {
	return &table.Error{Operation: "request", Table: c.Store.Layout().Table, Timeout: c.Attention,
		Err: context.DeadlineExceeded}
}

// hangsAt returns when a request hangs; zero: it may take any time, or as long as its context allows.
func (p wire) hangsAt(r *request) (at time.Time) {
	if r.Purpose != member.Using && r.Purpose != member.Transacting {
		at = r.sent.Add(p.c.Attention)
	}
	return at
}

// cleared lets those go on that wait until their row is deleted.
func (p wire) cleared() {
	waits := p.clearing
	p.clearing = nil
	for _, c := range waits {
		if p.deletes(c) {
			p.clearing = append(p.clearing, c)
		} else {
			c.then()
		}
	}
}

// deletes reports whether the row of a caller is to be deleted still.
func (p wire) deletes(c clears) bool {
	return p.m.Withdraws(c.caller) ||
		c.cleans && slices.ContainsFunc(p.requests, func(r *request) bool { return r != nil && r.Purpose == member.Cleaning })
}

// abandon ends requests for whose answers nothing waits: those of a wait, or of a row, after a grace. A write whose
// answer is not awaited has an unknown outcome, and its clean-up costs more than the wait.
func (p wire) abandon() {
	for of, r := range p.requests {
		if r == nil || r.limited || !p.m.For(of).Abandoned {
			continue
		}
		r.limited = true
		if r.Purpose == member.Waiting || r.Purpose == member.Keeping {
			time.AfterFunc(answerGrace, r.cancel)
		} else {
			r.cancel()
		}
	}
}

// answers gives the member an answer.
func (p wire) answers(a member.Answer) {
	r := p.finish(a.Of)
	answered := a.Seen != nil || a.Reply < machine.ReplyFailed
	if answered {
		p.answered = time.Now()
	}
	if r.Purpose == member.Waiting && !answered {
		p.failedLate(r, a.Err)
	}
	if r.Purpose == member.Ending && r.lock != nil {
		r.lock.ender().failing(a.Err)
	}
	switch s := p.sights[r.Block]; {
	case r.Purpose == member.Beating:
		switch k := p.caller(r.Caller); {
		case k == nil, k.lock == nil:
		case r.write:
			k.lock.keeper().beaten()
		case r.record && a.Seen == nil: // the bell may have said that it is asked to give way
			p.reads(k)
		}
	case s == nil:
	case r.Purpose == member.Waiting:
		s.pace.Timed(r.sent, time.Now())
		s.answered(a.Err, answered)
	case r.Purpose == member.Keeping && !answered, r.Purpose == member.Ending && r.lock == nil:
		s.answered(a.Err, answered)
	case r.Purpose == member.Keeping && s.put.IsZero():
		s.put = time.Now()
	}
	p.step(a)
	// it has not granted the lock
	if k := p.caller(r.Caller); k != nil && k.lock == nil && k.late && r.Purpose == member.Waiting {
		p.take(member.GivesUp{Caller: r.Caller})
	}
}

// finish takes a request from those under way.
func (p wire) finish(of int) *request {
	r := p.requests[of]
	p.requests[of] = nil
	for n := len(p.requests); n > 0 && p.requests[n-1] == nil; n-- {
		p.requests = p.requests[:n-1]
	}
	if len(p.requests) == 0 {
		p.requests = nil // one that holds a lock has none mostly
	}
	return r
}

// failedLate notes that a request has failed after its caller had given up, who then hears of that.
func (p wire) failedLate(r *request, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch k := p.called(r.Caller); {
	case k == nil, k.acquire == nil, !k.gaveUp:
	case !table.Unanswered(err) && !errors.Is(err, context.Canceled): // else it was cut short after a grace
		k.refused = err
	case k.status == nil:
		k.status = &Status{Failure: err}
	default:
		k.status.Failure = err
	}
}

// send sends a write. It is the only function that does. What the member does not repeat itself is repeated here, by
// what its Write says.
func (p wire) send(ctx context.Context, q table.Queue, r *request, s member.Send) (a member.Answer) {
	if !s.Limit.IsZero() {
		var cancel func()
		ctx, cancel = context.WithDeadline(ctx, s.Limit)
		defer cancel()
	}
	once := func(ctx context.Context, q table.Queue) error {
		a = write(ctx, q, r, s)
		return a.Err
	}
	switch is := r.Purpose; {
	case s.Tx:
		return p.transacts(ctx, r, s)
	case s.Users:
		return r.lock.ender().updates(ctx, q, s)
	case is == member.Cleaning, r.deletes, r.keeps:
		if err := detached(ctx, q, once); err != nil {
			p.leaves(r, err)
		}
	case is == member.Background:
		q.Store = q.Until(time.Time{})
		_ = once(ctx, q)
	case is == member.Using:
		_ = table.Retryable.Do(ctx, func(ctx context.Context) error { return once(ctx, q) })
	case is == member.Beating:
		select {
		case p.c.renewals <- struct{}{}:
			defer func() { <-p.c.renewals }()
			_ = once(ctx, q)
		case <-ctx.Done():
			a.Reply, a.Err = machine.ReplyFailed, ctx.Err()
		}
	default:
		_ = once(ctx, q)
	}
	return a
}

// leaves logs what a request has not removed.
func (p wire) leaves(r *request, err error) {
	switch {
	case r.deletes:
		p.c.Log.Warn("queuelock: a queue row could not be deleted; its lease will end it",
			"queue", p.queue.String(), "ticket", r.row, "error", err)
	case r.keeps:
		p.c.Log.Warn("queuelock: the place of a waiter may not be kept: its row may have its shorter lease",
			"queue", p.queue.String(), "ticket", r.row, "error", err)
	case len(r.ids) > 0:
		p.c.Log.Warn("queuelock: holder ids of unknown outcome could not be removed; their lease will end them",
			"queue", p.queue.String(), "ids", strings.Join(r.ids, " and "), "error", err)
	}
}

// write sends a write once.
func write(ctx context.Context, q table.Queue, r *request, s member.Send) (a member.Answer) {
	switch {
	case s.Take != nil:
		a.Record, a.Reply, a.Err = requests.Take(ctx, q, *s.Take)
	case len(s.Evicts) > 0:
		var n int
		a.Record, n, a.Err = requests.Sweeper(q, nil, 0).Holders(ctx, s.Evicts)
		if a.Reply = requests.ReplyOf(a.Err); n > 0 {
			first := queue.Turns(s.Evicts)[0]
			notify.Send(r.log, event.Evicted{Origin: r.log.Origin(r.Ticket), Count: n, Holder: first.Ticket, Owner: first.Owner})
		}
	case len(s.Sweep) > 0:
		var n int
		n, a.Err = requests.Sweeper(q, nil, 0).Rows(ctx, s.Sweep)
		if a.Reply = requests.ReplyOf(a.Err); a.Err == nil && n < len(s.Sweep) {
			a.Reply = machine.ReplyRefused
		}
		notify.Send(r.log, event.Swept{Origin: r.log.Origin(r.Ticket), Expired: len(s.Sweep), Removed: n})
	case !s.Row.IsZero():
		if a.Reply, a.Row, a.Err = requests.SendRow(ctx, q, s.Row, s.Write); a.Reply == machine.ReplyRefusedForGood &&
			s.Write.Kind == clause.Put {
			a.Err = nil // another row has the ticket
		}
	case s.Blind:
		a.Record, a.Reply, a.Err = requests.SendBlind(ctx, q, s.Write)
	default:
		a.Record, a.Reply, a.Err = requests.Send(ctx, q, s.Write)
	}
	return a
}

// detached sends a request of CLEAN UP. The first attempt is given up early enough to be repeated; the table may be
// slow, and the second has the rest of the time.
func detached(ctx context.Context, q table.Queue, request func(context.Context, table.Queue) error) error {
	ctx, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	whole := q.Until(time.Time{})
	q.Store = whole.AtMost(leaveLimit / 3)
	return table.Retryable.Within(leaveLimit).Do(ctx, func(ctx context.Context) error {
		defer func() { q.Store = whole }()
		return request(ctx, q)
	})
}

// number takes a number of a wider counter. One that is not above a ticket that a record has shown says that the
// counter has lost numbers: it is raised, and asked again. If that ticket is too far above, its record is malformed: no
// other queue should suffer.
func (p wire) number(ctx context.Context, q table.Queue, r *request, highest ticket.Number) (a member.Answer) {
	of := counter.Of(q, r.kind.Scope)
	for a.Err == nil && !highest.Less(a.Number) {
		if a.Number, a.Err = of.Next(ctx); a.Err != nil || highest.Less(a.Number) {
			break
		}
		switch a.Err = of.Raise(ctx, a.Number, highest); {
		case a.Err == nil:
			p.c.Log.Warn("queuelock: a counter had fallen below tickets that it had issued, and was raised",
				"counter", of.What, "queue", q.String(), "number", a.Number, "raised", highest)
		case errors.Is(a.Err, counter.ErrFar):
			a.Err = &clause.MalformedError{
				Item: fmt.Sprintf("serving record of %q", q), Attribute: q.Attr(attr.TicketNumber),
				Problem: fmt.Sprintf("is %s, too far above %s, which its counter has just issued: it must be corrected by hand",
					highest, a.Number),
			}
		}
	}
	if a.Err != nil {
		a.Reply = requests.ReplyOf(a.Err)
	}
	return a
}

// look reads the queue, or a part of it.
func look(ctx context.Context, q table.Queue, l member.Look) (a member.Answer) {
	var seen queue.Snapshot
	switch {
	case l.Next:
		seen.Next, a.Err = requests.GetRow(ctx, q, l.Below)
		seen.ReadAt = time.Now()
	case l.Record:
		var rec queue.Record
		rec, a.Err = requests.Get(ctx, q)
		seen = queue.SnapshotOf(rec, time.Now())
	case l.Later:
		seen, a.Err = requests.LookAround(ctx, q, l.Below)
	default:
		seen, a.Err = requests.Look(ctx, q, l.Below, l.Floor, l.Turns)
	}
	if a.Seen = &seen; a.Err != nil {
		a.Seen, a.Reply = nil, requests.ReplyOf(a.Err)
	}
	return a
}
