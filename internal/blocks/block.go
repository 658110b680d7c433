package blocks

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
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
	w       *waiter.Waiter     // while it waits
	cancel  context.CancelFunc // of its wait; nil: that is its caller's

	// Guarded by blocks.mu.
	begun  bool             // it waits
	living int              // callers that have not left, before the grant
	turn   int              // of the present holder
	first  ticket.Number    // zero: not known yet
	seen   *waiter.Progress // last; nil: none
	status waiter.Status    // after the grant
	held   bool             // it was granted
	ended  bool             // its last turn has ended, or it is lost
}

var _ waiter.Block = (*block)(nil)

// start begins the wait. blocks.mu is held.
func (k *block) start() {
	if len(k.callers) == 1 {
		k.callers[0].signal()
		return
	}
	c := k.callers[0]
	ctx, cancel := context.WithCancel(random.Fork(context.WithoutCancel(c.ctx)))
	k.cancel, k.begun = cancel, true
	k.prepare(ctx)
	k.blocks.run(func() {
		defer cancel()
		grant, err := k.acquire(ctx)
		switch {
		case err != nil:
			k.failed(k.w, err)
		case !k.deliver(0, grant):
			c.member.GiveBack(ctx, grant)
		}
	})
}

// prepare makes the waiter. Several callers share one, which reports to all of them.
func (k *block) prepare(ctx context.Context) {
	if k.w != nil {
		return
	}
	cfg := k.callers[0].member.Config()
	cfg.Turns, cfg.Numbered, cfg.Progress = len(k.callers), k.numbered, k.callers[0].report
	if len(k.callers) > 1 {
		cfg.Progress = k.progress
	}
	k.w = waiter.New(ctx, cfg)
}

// acquireAlone is the wait of a block of one.
func (k *block) acquireAlone() (Waited, *waiter.Grant, error) {
	ctx := k.callers[0].ctx
	k.prepare(ctx)
	w := k.w
	grant, err := k.acquire(ctx)
	if err != nil {
		k.failed(w, err)
	}
	return w, grant, err
}

// acquire waits for the lock.
func (k *block) acquire(ctx context.Context) (grant *waiter.Grant, err error) {
	if k.offer != nil {
		grant, err = k.w.Retook(ctx, k.answer(ctx))
	}
	if grant == nil && err == nil {
		grant, err = k.w.Run(ctx)
	}
	if err != nil {
		return nil, err
	}
	b := k.blocks
	b.mu.Lock()
	defer b.mu.Unlock()
	grant.Block, k.held, k.first = k, true, grant.Ticket
	k.status = waiter.Status{Ticket: grant.Ticket, Serving: grant.Record.Holders, SeenAt: time.Now()}
	if k.w = nil; len(k.callers) == 1 {
		k.callers = nil // its only turn begins
	}
	k.line.holding = k
	k.line.taken(k)
	return grant, nil
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
	k.first = first
	k.line.taken(k)
	b.mu.Unlock()
	for i, c := range k.callers[1:] { // the waiter has reported the first
		c.member.Log().Ticket(first.Plus(uint64(1 + i)))
	}
}

// progress reports what the block's waiter has seen to each caller.
func (k *block) progress(p waiter.Progress) {
	b := k.blocks
	b.mu.Lock()
	k.seen = &p
	var calls []func()
	ahead := 0
	for i, c := range k.callers {
		if c.left {
			continue
		}
		if report := c.report; report != nil {
			own := p
			own.Status.Ticket, own.Status.Ahead, own.Tickets = p.Status.Ticket.Plus(uint64(i)), p.Status.Ahead+ahead, p.Tickets+i
			calls = append(calls, func() { report(own) })
		}
		ahead++
	}
	b.mu.Unlock()
	for _, call := range calls {
		call()
	}
}

// statusOf returns what a caller knows of its queue. blocks.mu is held.
func (k *block) statusOf(c *Caller) *waiter.Status {
	var s waiter.Status
	switch {
	case k.held:
		s = k.status
		s.Ticket, s.Ahead = k.first.Plus(uint64(c.index)), max(0, c.index-k.turn-1)
	case k.seen != nil:
		s = k.seen.Status
		s.Ticket, s.Ahead = s.Ticket.Plus(uint64(c.index)), s.Ahead+c.index
	}
	return &s
}

// failed ends a block that is not granted the lock: its callers get the error.
func (k *block) failed(w *waiter.Waiter, err error) {
	b, status, tried := k.blocks, w.Status(), w.Tried()
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, c := range k.callers {
		if !c.left {
			own := status
			if own.Ahead += i; !own.Ticket.IsZero() {
				own.Ticket = own.Ticket.Plus(uint64(i))
			}
			c.err, c.status, c.tried = err, &own, tried
			c.signal()
		}
	}
	k.line.blocks--
	k.line.taken(k)
	k.line.goOn(b)
}

// choose returns the first caller from a turn on that has not left, and lets it not leave any more. blocks.mu is held.
func (k *block) choose(turn int) *Caller {
	for _, c := range k.callers[min(turn, len(k.callers)):] {
		if !c.left {
			k.turn, c.chosen = c.index, true
			return c
		}
	}
	return nil
}

// deliver gives the grant to the first caller from a turn on, and returns false if there is none.
func (k *block) deliver(turn int, grant *waiter.Grant) bool {
	b := k.blocks
	b.mu.Lock()
	defer b.mu.Unlock()
	c := k.choose(turn)
	if c != nil {
		grant.Ticket = k.first.Plus(uint64(c.index))
		k.give(c, grant)
	}
	return c != nil
}

func (k *block) give(c *Caller, grant *waiter.Grant) {
	c.grant = grant
	c.signal()
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
	k.give(k.callers[k.turn], grant)
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
	ctx := next.callers[0].ctx
	if len(next.callers) > 1 {
		ctx = context.WithoutCancel(ctx)
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

func (k *block) split() {
	var rest []*Caller
	for _, c := range k.callers[min(k.turn+1, len(k.callers)):] {
		if !c.left {
			rest = append(rest, c)
			k.callers[c.index] = &Caller{left: true}
		}
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

// over is Over. blocks.mu is held.
func (k *block) over(lost bool) {
	if k.ended {
		return
	}
	k.ended = true
	l := k.line
	l.blocks--
	if l.holding == k {
		l.holding = nil
		l.stop()
	}
	if !lost && l.holding == nil && len(l.gathered) > 0 {
		l.wait(k.blocks, lingerFor)
	}
	k.split()
}
