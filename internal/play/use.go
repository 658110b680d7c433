package play

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// use is a call of the holder that uses the lock.
type use struct {
	n     int32
	kind  member.Use
	ctx   context.Context // which ends with the lock
	timed context.Context // the same, but it does not read the clock
	done  chan used
	// of a transaction: the caller's, the fences of the joined, and once it was sent its own
	items  []types.TransactWriteItem
	joined []*Lock // under which the transaction is made, too
	token  string
	begun  heartbeat.Instant // when the token was first sent
	sent   bool              // an attempt was
	raised bool              // its call has ended by a panic of its request
}

// used is what has become of it.
type used struct {
	r   member.Report
	end func() // a panic
}

// call makes a call of the holder, and returns what has become of it. Its ctx ends what it waits for.
func (l user) call(ctx context.Context, e member.Uses) member.Report { return l.uses(ctx, e, &use{}) }

// uses is call with what is known of the use.
func (l user) uses(ctx context.Context, e member.Uses, u *use) member.Report {
	u.kind, u.ctx, u.timed, u.done = e.Use, ctx, ctx, make(chan used, 2)
	if held, ok := ctx.(lockContext); ok {
		u.timed = held.Context
	}
	l.mu.Lock()
	c := l.called()
	c.count++
	u.n, e.N, e.Caller = c.count, c.count, l.caller
	c.using = append(c.using, u)
	gone := l.phase.Final() || l.gone
	l.mu.Unlock()
	if gone {
		l.mu.Lock()
		c.using = slices.DeleteFunc(c.using, func(o *use) bool { return o == u })
		l.mu.Unlock()
		return member.Report{News: member.Failed}
	}
	unhook := context.AfterFunc(ctx, func() { l.p.happens(member.Stops{Caller: l.caller, N: u.n}) })
	defer unhook()
	l.p.happens(e)
	got := <-u.done
	if got.end != nil {
		l.p.happens(member.Stops{Caller: l.caller, N: u.n})
		got.end()
	}
	return got.r
}

var errUnanswered = errors.New("its request was not answered before the lock was over")

// fails ends the uses of a lock of which nothing is left: no report of them follows. l.mu is held.
func (l user) fails() {
	c := l.called()
	for _, u := range c.using {
		r := member.Report{News: member.Failed, Use: u.kind, N: u.n}
		if u.sent { // it may have been made
			r.News, r.Left, r.Err = member.Unsure, machine.TransactionUnsettled, errUnanswered
		}
		u.done <- used{r: r}
	}
	c.using = nil
}

// used takes the end of a use.
func (l user) used(r member.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.called()
	if r.Use == member.Fences && r.News == member.Done {
		c.fence = &r.Fence
	}
	l.shared = l.shared || r.Use == member.Downgrades && r.News == member.Done
	for i, u := range c.using {
		if u.n == r.N {
			c.using = slices.Delete(c.using, i, i+1)
			if u.sent {
				c.last = u
			}
			u.done <- used{r: r}
			return
		}
	}
}

// transaction returns the transaction under way, or the last. l.mu is held.
func (l user) transaction() *use {
	c := l.called()
	for _, u := range c.using {
		if u.kind == member.Transacts {
			return u
		}
	}
	return c.last
}

// failed returns the error of a call of the holder that failed with err. ctx is the caller's.
func (l *Lock) failed(ctx context.Context, what string, err error) error {
	return fmt.Errorf("queuelock: %s: %s: %w", l.name(), what, errors.Join(err, ctx.Err(), l.Err()))
}

// SetData replaces the holder's data; nil removes it. Calls take effect in the order in which they began.
func (l *Lock) SetData(ctx context.Context, data []byte) error {
	return l.user().changes(ctx, "set data", member.Uses{Use: member.SetsData, Data: string(bytes.Clone(data))})
}

// Shared reports whether the lock is known to be in shared mode.
func (l *Lock) Shared() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shared
}

// Downgrade makes an exclusive lock a shared one.
func (l *Lock) Downgrade(ctx context.Context) error {
	if err := l.Err(); err != nil || l.Shared() {
		return err
	}
	return l.user().changes(ctx, "downgrade", member.Uses{Use: member.Downgrades})
}

// changes changes the holder's entry.
func (l user) changes(ctx context.Context, what string, e member.Uses) error {
	if err := l.Err(); err != nil {
		return err
	}
	held, cancel := l.Within(ctx)
	defer cancel()
	r := l.call(held, e)
	switch {
	case r.News == member.Done:
		return nil
	case l.Err() != nil && ctx.Err() == nil:
		return l.Err()
	}
	return l.failed(ctx, what, r.Err)
}

// maxItems is DynamoDB's limit of a transaction.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
const maxItems = 100

// validItems returns an error if the caller's items do not fit beside so many checks on locks.
func validItems(what string, items, checks int) error {
	if items == 0 || items+checks > maxItems {
		return fmt.Errorf("queuelock: %s: %d items and %d checks on locks: between 1 and %d items are possible, %d in all",
			what, items, checks, maxItems-checks, maxItems)
	}
	return nil
}

// Transact is the function Transact with one lock.
func (l *Lock) Transact(ctx context.Context, items ...types.TransactWriteItem) error {
	return Transact(ctx, []*Lock{l}, l.Err, items)
}

// Transact makes the writes, all or none, only if all of the locks are held; end is the reason if they are not. It
// returns nil if they were made, once, and Config.Unknown's error if that is not known. With any other error nothing
// was written. The first of the locks sends the transaction, with the fences of all.
func Transact(ctx context.Context, locks []*Lock, end func() error, items []types.TransactWriteItem) error {
	if err := validItems("Transact", len(items), len(locks)); err != nil {
		return err
	}
	l, held := locks[0], ctx
	if err := ctx.Err(); err != nil {
		// A request of an ended context is never sent, but fails like one that was.
		return fmt.Errorf("queuelock: %s: transact: nothing was sent: %w", l.name(), err)
	}
	if err := end(); err != nil {
		return err
	}
	for _, one := range locks {
		var cancel func()
		held, cancel = one.Within(held)
		defer cancel()
	}
	// if the DynamoDB client panics
	u, r := &use{items: slices.Clone(items)}, member.Report{Left: machine.TransactionUnsettled}
	defer func() {
		for _, one := range u.joined {
			one.user().leaves(u, r.Left)
		}
	}()
	for _, one := range locks[1:] {
		if err := one.user().joins(held, u); err != nil {
			r.Left = machine.TransactionSettled
			return fmt.Errorf("queuelock: %s: transact: nothing was sent: %w", one.name(), errors.Join(err, ctx.Err(), end()))
		}
	}
	if r = l.user().uses(held, member.Uses{Use: member.Transacts}, u); !u.sent {
		r.Left = machine.TransactionSettled
	}
	switch r.News {
	case member.Done:
		return nil
	case member.Unsure:
		return l.p.c.Unknown(l.p.queue, r.Err, ctx.Err(), end())
	}
	return fmt.Errorf("queuelock: %s: transact: %w", l.name(), errors.Join(r.Err, ctx.Err(), end()))
}

// joins adds the fence of another lock to a transaction.
func (l user) joins(ctx context.Context, u *use) error {
	r := l.call(ctx, member.Uses{Use: member.Joins})
	if r.News != member.Done {
		return r.Err
	}
	u.joined = append(u.joined, l.Lock)
	q := l.p.queue
	fence, err := q.Record().InTransaction(q.RecordKey(), r.Fence, q.Names())
	u.items = append(u.items, types.TransactWriteItem{Update: &fence})
	return err
}

// leaves ends a transaction that another lock has sent.
func (l user) leaves(u *use, left machine.TransactionState) {
	l.mu.Lock()
	if u.sent {
		l.called().last = u
	}
	l.mu.Unlock()
	l.p.happens(member.Uses{Caller: l.caller, Use: member.Leaves, Left: left})
}

// judges returns what a record that has refused such a transaction says of it, and the error of that.
func (l user) judges(err error, i int) (e machine.TransactionEvent) {
	rec, malformed := queue.DecodeRecord(l.p.queue.Items, table.ReasonItem(err, i))
	if malformed != nil {
		return machine.TransactionEvent{Fenced: true, Made: machine.MadeNotYet, Malformed: true, Err: malformed}
	}
	r := l.call(context.WithoutCancel(l.ctx.Context), member.Uses{Use: member.Judges, Record: rec})
	e = machine.TransactionEvent{Fenced: true, Made: r.Made, Err: err}
	if r.News != member.Done { // it has ended
		e.Made = machine.MadeUnknown
	}
	if e.Made == machine.MadeUnknown || e.Made == machine.MadeNever {
		e.Err = cmp.Or(l.Err(), err)
	}
	return e
}

// tokenLife is less than DynamoDB remembers a ClientRequestToken, ten minutes. Within it, a refusal proves that no
// earlier attempt with the token was made.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const tokenLife = 9 * time.Minute

// transacts sends a transaction once, or waits until one that was made is visible.
func (p wire) transacts(ctx context.Context, r *request, s member.Send) (a member.Answer) {
	l, q := r.lock, p.queue
	l.mu.Lock()
	u := l.user().transaction()
	if s.Show && !u.sent {
		u = l.called().last
	}
	if !s.Show && !u.sent {
		fence, err := q.Record().InTransaction(q.RecordKey(), s.Write, q.Names())
		if err != nil {
			l.mu.Unlock()
			return member.Answer{Reply: machine.ReplyFailed, Err: err}
		}
		u.items, u.sent = append(u.items, types.TransactWriteItem{Update: &fence}), true
	}
	if s.Renew {
		u.token, u.begun = random.Text(ctx), q.Clock().Mark(time.Now())
	}
	attempt := *u
	l.mu.Unlock()
	if r.Purpose == member.Ending { // the lock is released all the same
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, settleLimit)
		defer cancel()
	}
	if !s.Show {
		return attempt.attempt(ctx, q)
	}
	if !attempt.visible(ctx, q.Store) {
		a.Reply, a.Err = machine.ReplyFailed, ctx.Err()
	}
	return a
}

// attempt sends the transaction once.
func (u *use) attempt(ctx context.Context, q table.Queue) (a member.Answer) {
	err := q.Store.Transact(ctx, u.token, u.items)
	reasons := table.Reasons(err)
	a.Transaction = machine.TransactionEvent{
		Err: err, Mismatch: table.TokenMismatch(err), Transient: err != nil && transient(err),
		Open: err != nil && reasons == nil && table.Applied(err), Forgotten: q.Clock().Since(u.begun, time.Now()) > tokenLife,
	}
	fence := len(u.items) - 1
	if len(reasons) == len(u.items) && reasons[fence] == table.ReasonFailed {
		rec, malformed := queue.DecodeRecord(q.Items, table.ReasonItem(err, fence))
		a.Reply, a.Record = machine.ReplyRefused, rec
		if malformed != nil {
			a.Record, a.Err = queue.Record{Problem: malformed}, malformed
		}
		return a
	}
	for i, l := range u.joined {
		if at := fence - len(u.joined) + i; len(reasons) == len(u.items) && reasons[at] == table.ReasonFailed {
			a.Transaction = l.user().judges(err, at)
			break
		}
	}
	return a
}

// transient reports whether a transaction that failed with err may succeed later.
func transient(err error) bool {
	return table.RetryableReasons(table.Reasons(err)) || table.Unanswered(err)
}

// visible repeats a transaction that was made until an answer shows that all of its items, and not the record alone,
// are visible. Within the life of its token that is a success. Later it is refused by its number, and has long been
// visible.
func (u *use) visible(ctx context.Context, store *table.Store) bool {
	token := u.token
	return retry.Policy{Retryable: func(error) bool { return true }}.Do(ctx, func(ctx context.Context) error {
		err := store.Transact(ctx, token, u.items)
		if table.TokenMismatch(err) {
			token = random.Text(ctx)
		}
		if reasons := table.Reasons(err); len(reasons) == len(u.items) && !table.Undecided(reasons) {
			return nil
		}
		return err
	}) == nil
}

// Condition returns a check that the lock is held, for a transaction of the caller's own.
func (l *Lock) Condition() types.ConditionCheck {
	l.user().call(context.WithoutCancel(l.ctx.Context), member.Uses{Use: member.Fences})
	l.mu.Lock()
	fence := queue.Fence(l.id+"-over", l.ticket, true) // no entry has that id
	if own := l.called().fence; own != nil {
		fence = *own
	}
	l.mu.Unlock()
	q := l.p.queue
	check, err := q.Record().Check(q.RecordKey(), fence, q.Names())
	if err != nil {
		panic("queuelock: the condition of a lock cannot be built: " + err.Error()) // it has no part that could be wrong
	}
	return check
}

// Get reads items that the lock protects in one TransactGetItems, which conflicts with a transaction that is still
// being committed. It is repeated until ctx or the lock ends.
func (l *Lock) Get(ctx context.Context, items []types.TransactGetItem) (read []clause.Item, err error) {
	if err := cmp.Or(validItems("Get", len(items), 0), l.Err()); err != nil {
		return nil, err
	}
	held, cancel := l.Within(ctx)
	defer cancel()
	read, err = retry.Answer(held, retry.Policy{Retryable: transient}, func(ctx context.Context) ([]clause.Item, error) {
		return l.p.queue.TransactGet(ctx, items)
	})
	if err != nil {
		return nil, l.failed(ctx, "get", err)
	}
	return read, l.Err()
}

// revoked is what the caller knows of requests to give way. The lock's mutex guards it.
type revoked struct {
	asked chan struct{} // closed once there was one; nil before Revoked was called
	mark  *queue.Revocation
	rung  bool      // before Revoked was called: it may have been asked
	read  time.Time // when the record was read last because of a bell
}

// readPause is the least time between two reads of the record after bells: any process that reads the table can ring.
const readPause = time.Second

// Revoked returns a channel that is closed once the record has shown a request to give way. From the first call on, the
// bell makes the holder read the record. If it was rung before, so does the first call.
func (l *Lock) Revoked() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.called().revoked
	if r.asked == nil {
		r.asked = make(chan struct{})
		switch {
		case r.mark != nil:
			close(r.asked)
		case r.rung: // of a lock that has ended the member reads nothing
			r.read = time.Now()
			l.p.c.Background(l.looks) // p.mu comes before l.mu
		}
	}
	return r.asked
}

// Revocation returns the last request to give way that the record has shown.
func (l *Lock) Revocation() (r queue.Revocation, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if mark := l.called().mark; mark != nil {
		return *mark, true
	}
	return r, false
}

// asked takes a request to give way.
func (l *Lock) asked(mark *queue.Revocation) {
	l.mu.Lock()
	r := &l.called().revoked
	first := r.mark == nil
	if r.mark = mark; first && r.asked != nil {
		close(r.asked)
	}
	l.mu.Unlock()
	if log := l.k.log; first {
		notify.Send(log, event.Revoked{Origin: log.Origin(l.ticket), By: mark.By, Why: mark.Why, At: mark.At,
			Deadline: mark.Deadline})
	}
}

// reads reports whether the holder reads the record after a bell, and for how long it waits first.
func (l *Lock) reads() (in time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.called().revoked
	if r.rung = r.rung || r.asked == nil; r.asked == nil || r.mark != nil || !l.phase.Held() {
		return 0, false
	}
	in = max(0, readPause-time.Since(r.read))
	r.read = time.Now().Add(in)
	return in, true
}

// readsMark lets a holder that waits to be asked read the record.
func (p *player) readsMark(b member.Block) {
	k := p.caller(b.Callers.At(b.Turn))
	if k == nil || k.lock == nil {
		return
	}
	p.reads(k)
}

// reads lets a holder that waits to be asked read the record, soon.
func (p *player) reads(k *Caller) {
	if in, ok := k.lock.reads(); ok && in <= 0 {
		p.step(member.Uses{Caller: k.lock.caller, Use: member.Looks})
	} else if ok {
		time.AfterFunc(in, k.lock.looks)
	}
}

// looks reads the record.
func (l *Lock) looks() { l.p.happens(member.Uses{Caller: l.caller, Use: member.Looks}) }

// calling returns the context of a request of the holder. It ends when the member does not await the answer any more:
// see abandon and cuts.
func (l user) calling(values context.Context, is member.Purpose, settles bool) context.Context {
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
		context.AfterFunc(l.called().using[0].timed, soon)
	}
	return limited
}

// settles returns how long SETTLE may take: little if no caller waits for it, or the turn ends. l.mu is held.
func (l user) settles() time.Duration {
	if c := l.called(); c.release != nil || len(c.using) == 0 || c.using[0].timed.Err() != nil {
		return settleLimit
	}
	return settleTimeout
}
