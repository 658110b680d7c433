package blocks

import (
	"context"
	"runtime"
	"time"

	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// block is callers with adjacent tickets. A block of one waits in its caller's goroutine, and any other in one of its own.
type block struct {
	blocks  *Blocks
	line    *line
	callers []*Caller          // by turn; constant until it is granted
	offer   chan queue.Passed  // the answer of a release that takes its tickets; nil: it takes them itself
	w       *waiter.Waiter     // while it waits; nil: it holds the lock. Changed under blocks.mu
	cancel  context.CancelFunc // of its wait; nil: that is its caller's

	// Guarded by blocks.mu.
	turn   int              // of the present holder
	first  ticket.Number    // zero: not known yet
	seen   *waiter.Progress // last; nil: none
	holder queue.Holder     // after the grant, as it was then
	shown  time.Time        // when the callers of later turns were last shown their places
	ended  bool             // its last turn has ended, or it is lost
}

var _ waiter.Block = (*block)(nil)

// start begins the wait. blocks.mu is held.
func (k *block) start() {
	c := k.callers[0]
	if len(k.callers) == 1 {
		c.alone = k
		c.signal()
		return
	}
	ctx, cancel := context.WithCancel(random.Fork(context.WithoutCancel(c.ctx)))
	k.cancel = cancel
	k.prepare(ctx)
	k.blocks.run(func() {
		defer cancel()
		k.acquireTogether(ctx, c.member)
	})
}

// prepare makes the waiter. Several callers share one, which reports to all of them. blocks.mu is held.
func (k *block) prepare(ctx context.Context) {
	if k.w != nil {
		return
	}
	c := k.callers[0]
	cfg := c.member.Config()
	cfg.Turns, cfg.Numbered, cfg.Progress = len(k.callers), k.numbered, c.report
	cfg.Silence = min(k.line.silence(c), cfg.RetryTimeout-1)
	if len(k.callers) > 1 {
		cfg.Progress, cfg.Log = k.progress, cfg.Log.OfSeveral()
	}
	k.w = waiter.New(ctx, cfg)
}

// acquireTogether is the wait of several callers. A panic continues in the goroutine of the first, and the others take new tickets.
func (k *block) acquireTogether(ctx context.Context, m Member) {
	returned := false
	defer func() {
		if !returned { // the DynamoDB client has panicked
			k.raise(recover())
		}
	}()
	w := k.w
	grant, err := k.acquire(ctx)
	switch {
	case err != nil:
		k.failed(w, err)
	case !k.begin(grant):
		m.GiveBack(ctx, grant)
	}
	returned = true
}

// raise ends the block whose goroutine a panic has ended, or runtime.Goexit if value is nil.
func (k *block) raise(value any) {
	end := runtime.Goexit
	if value != nil {
		end = func() { panic(value) }
	}
	k.blocks.mu.Lock()
	c := k.choose(0)
	if c != nil {
		c.end = end
		c.signal()
	}
	k.over(true)
	k.blocks.mu.Unlock()
	if c == nil {
		end()
	}
}

// acquireAlone is the wait of a block of one.
func (k *block) acquireAlone() (_ Waited, grant *waiter.Grant, err error) {
	k.blocks.mu.Lock()
	ctx := k.callers[0].member.Bind()
	k.prepare(ctx)
	w := k.w
	k.blocks.mu.Unlock()
	defer func() {
		if grant == nil { // also if the DynamoDB client has panicked
			k.failed(w, err)
		}
	}()
	grant, err = k.acquire(ctx)
	return w, grant, err
}

// acquire waits for the lock.
func (k *block) acquire(ctx context.Context) (grant *waiter.Grant, err error) {
	if k.offer != nil {
		grant, err = k.retook(ctx)
	}
	if grant == nil && err == nil {
		grant, err = k.w.Run(ctx)
	}
	if err == nil {
		k.granted(grant)
	}
	return grant, err
}

// retook continues with what has become of the release that was to take the tickets.
//
//go:noinline // what it needs of the stack, a resting block does not occupy
func (k *block) retook(ctx context.Context) (*waiter.Grant, error) {
	return k.w.Retook(ctx, k.answer(ctx))
}

// granted notes that the block has the lock.
//
//go:noinline // what it needs of the stack, a resting block does not occupy
func (k *block) granted(grant *waiter.Grant) {
	b := k.blocks
	b.mu.Lock()
	defer b.mu.Unlock()
	grant.Block, k.w = k, nil
	k.holder, _ = grant.Record.Mine(grant.ID)
	if len(k.callers) == 1 {
		k.callers = nil // its only turn begins
	}
	k.line.holding = k
	k.ticketed(grant.Ticket)
}

// answer returns the answer of the release that was to take the tickets, for which a caller waits a while longer than it would.
func (k *block) answer(ctx context.Context) queue.Passed {
	ctx, cancel := retry.Outlive(ctx, answerGrace)
	defer cancel()
	select {
	case answer := <-k.offer:
		return answer
	case <-ctx.Done():
		return queue.Passed{Reply: queue.ReplyUnknown}
	}
}

// answerGrace is how long the answer to a request is awaited after the caller's context has ended.
const answerGrace = time.Second

// numbered notes that the block has tickets, and waits in the queue.
func (k *block) numbered(first ticket.Number) {
	b := k.blocks
	b.mu.Lock()
	defer b.mu.Unlock()
	k.ticketed(first)
}

// ticketed notes the first ticket, and reports to each caller its own. blocks.mu is held.
func (k *block) ticketed(first ticket.Number) {
	known := k.first == first
	k.first = first
	k.line.taken(k)
	if known || len(k.callers) == 1 {
		return // the waiter of one reports it
	}
	for i, c := range k.callers {
		if !c.left {
			c.member.Log().Ticket(first.Plus(uint64(i)))
		}
	}
}

// progress reports what the block's waiter has seen to each caller.
func (k *block) progress(p waiter.Progress) {
	b := k.blocks
	b.mu.Lock()
	defer b.mu.Unlock()
	k.seen = &p
	k.report(0, p)
}

// show reports their places to the callers of later turns, at most once in showEvery. blocks.mu is held.
func (k *block) show() {
	if now := time.Now(); k.turn+1 < len(k.callers) && now.Sub(k.shown) >= showEvery {
		k.shown = now
		k.report(k.turn+1, waiter.Progress{Status: k.serving()})
	}
}

// showEvery is how often those that wait inside a block that holds are shown their places: in memory, turns may be very short.
const showEvery = 100 * time.Millisecond

// serving returns what the callers know of a block that holds. blocks.mu is held.
func (k *block) serving() waiter.Status {
	h := k.holder
	h.Reached = k.first.Plus(uint64(k.turn))
	return waiter.Status{Serving: []queue.Holder{h}, SeenAt: time.Now(), Kept: true}
}

// report reports to the callers from a turn on. p is what the first of them sees. blocks.mu is held, so that no turn begins
// meanwhile.
func (k *block) report(turn int, p waiter.Progress) {
	for i, c := range k.callers[turn:] {
		if c.left {
			continue
		}
		if report := c.report; report != nil {
			own := p
			own.Status.Ticket, own.Tickets = k.first.Plus(uint64(c.index)), p.Tickets+i
			report(own)
		}
		p.Status.Ahead++
	}
}

// statusOf returns what a caller knows of its queue. blocks.mu is held.
func (k *block) statusOf(c *Caller) *waiter.Status {
	var s waiter.Status
	from := 0
	switch {
	case k.w == nil:
		s, from = k.serving(), k.turn+1
	case k.seen != nil:
		s = k.seen.Status
	default:
		return &waiter.Status{Failure: k.failure()}
	}
	s.Failure = k.failure()
	s.Ticket = k.first.Plus(uint64(c.index))
	for _, before := range k.callers[min(from, c.index):c.index] {
		if !before.left {
			s.Ahead++
		}
	}
	return &s
}

// failure returns the failure of the last request of a block that is not granted. blocks.mu is held.
func (k *block) failure() (err error) {
	if k.w != nil {
		err = k.w.Failure()
	}
	return err
}

// failed ends a block that is not granted the lock: its callers get the error. If the table does not answer, those that gather get it
// too, and all those go on for which it has not been silent for as long as for the first.
func (k *block) failed(w *waiter.Waiter, err error) {
	b, l, status, tried := k.blocks, k.line, w.Status(), w.Tried()
	b.mu.Lock()
	defer b.mu.Unlock()
	fail, rest, patience := k.callers, []*Caller(nil), time.Duration(0)
	if l.taking == k && table.Unanswered(err) {
		patience = k.callers[0].member.Config().RetryTimeout * 9 / 10 // attempts end before a pause that would be too long
		fail, l.gathered = append(fail, l.gathered...), nil
	}
	for i, c := range fail {
		switch {
		case c.left:
		case i > 0 && l.silence(c) < patience:
			rest = append(rest, c)
		default:
			own := status
			if !own.Ticket.IsZero() {
				own.Ticket = own.Ticket.Plus(uint64(c.index))
			}
			c.err, c.status, c.tried = err, &own, tried
			c.signal()
			status.Ahead++
		}
	}
	l.ended(k)
	l.gather(b, true, rest...)
}

// choose returns the first caller from a turn on that has not left, and lets it not leave any more. blocks.mu is held.
func (k *block) choose(turn int) *Caller {
	c := k.next(turn)
	if c != nil {
		k.turn, c.chosen = c.index, true
	}
	return c
}

// next returns the first caller from a turn on that has not left, or nil. blocks.mu is held.
func (k *block) next(turn int) *Caller {
	for _, c := range k.callers[min(turn, len(k.callers)):] {
		if !c.left {
			return c
		}
	}
	return nil
}

// begin gives the grant to the first caller, and returns false if all have left.
func (k *block) begin(grant *waiter.Grant) bool {
	b := k.blocks
	b.mu.Lock()
	defer b.mu.Unlock()
	c := k.choose(0)
	if c != nil {
		grant.Ticket = k.first.Plus(uint64(c.index)) // the first callers may have given up
		k.deliver(grant)
	}
	return c != nil
}

// deliver gives the grant of its turn to the caller that was chosen. blocks.mu is held.
func (k *block) deliver(grant *waiter.Grant) {
	c := k.callers[k.turn]
	c.grant = grant
	c.signal()
	k.show()
}

// Choose chooses the caller of the next turn, to which Deliver follows. Its ticket is zero if there is none.
func (k *block) Choose() (turn ticket.Number) {
	b := k.blocks
	b.mu.Lock()
	defer b.mu.Unlock()
	if k.ended {
		return turn
	}
	if c := k.choose(k.turn + 1); c != nil {
		turn = k.first.Plus(uint64(c.index))
	}
	return turn
}

// Deliver gives the grant of its turn to the caller that was chosen.
func (k *block) Deliver(grant *waiter.Grant) {
	b := k.blocks
	b.mu.Lock()
	defer b.mu.Unlock()
	k.deliver(grant)
}

// Retake returns the callers that have gathered as those to which a release grants the lock, with new tickets from t on.
func (k *block) Retake(t ticket.Number) (n handover.Next) {
	b := k.blocks
	b.mu.Lock()
	defer b.mu.Unlock()
	l := k.line
	if l.taking != nil || l.holding != k || len(l.gathered) == 0 {
		return n
	}
	next := l.take(b)
	next.offer = make(chan queue.Passed, 1)
	c := next.callers[0]
	ctx := context.WithoutCancel(c.ctx)
	if len(next.callers) == 1 {
		ctx = c.member.Bind()
	}
	next.prepare(ctx)
	n = handover.Retakes(&queue.Next{Entry: next.w.Retaking(t), Ticket: t, New: true}, next.offer)
	next.start()
	return n
}

// Split gives the callers of later turns back to the line: the lock is not exclusive any more.
func (k *block) Split() {
	b := k.blocks
	b.mu.Lock()
	defer b.mu.Unlock()
	k.split()
}

// split is Split. The first callers are given back as well. blocks.mu is held.
func (k *block) split(first ...*Caller) {
	rest := first
	for c := k.next(k.turn + 1); c != nil; c = k.next(c.index + 1) {
		rest = append(rest, c)
		k.callers[c.index] = &Caller{left: true}
	}
	for _, c := range rest {
		c.since = time.Now()
	}
	k.line.gather(k.blocks, true, rest...)
}

// Over says that the block does not hold the lock any more. Its other callers take new tickets.
func (k *block) Over(lost bool) {
	b := k.blocks
	b.mu.Lock()
	defer b.mu.Unlock()
	k.over(lost)
}

// over is Over. first are callers whose turn has not begun. blocks.mu is held.
func (k *block) over(lost bool, first ...*Caller) {
	if k.ended {
		return
	}
	k.ended = true
	l := k.line
	l.ended(k)
	if !lost && l.holding == nil && len(l.gathered) > 0 {
		l.wait(k.blocks, lingerFor)
	}
	k.split(first...)
}
