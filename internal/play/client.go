package play

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

const (
	// gatherFor is how long callers gather at most while their client holds the lock. A caller of another client that
	// comes in that time may get the earlier ticket.
	gatherFor = 50 * time.Millisecond
	// lingerFor is how long they gather after the last turn of a block: its caller may come again.
	lingerFor = time.Millisecond
	// answerGrace is how long the answer to a request is awaited after nothing waits for it.
	answerGrace = time.Second
	// leaveLimit limits the requests of CLEAN UP. A lease ends what they do not remove.
	leaveLimit = 3 * time.Second
	// settleTimeout limits SETTLE while a caller waits for it.
	settleTimeout = 30 * time.Second
	// settleLimit limits what a call that ends a turn waits for transactions.
	settleLimit = time.Second
	// crowd is the number of locks of one client from which on their first heartbeats are spread over half of the
	// interval: many may be granted at once.
	crowd = 100
	// TryLimit is how long the requests of one try may take of a caller that does not wait.
	TryLimit = 3 * time.Second
	// maxRenewals limits the heartbeats of one client that are under way at one time. If the table does not answer, those
	// of ten thousand locks would otherwise need as many connections.
	maxRenewals = 1000
)

// Config is what all callers of a client have in common.
type Config struct {
	Most      int  // callers of a block
	Names     bool // a release may grant the lock by a row
	Schedule  waitpolicy.Schedule
	Timeout   time.Duration // of a request: how long a release outlives its caller
	Attention time.Duration // a request that takes longer hangs: it counts as one without an answer

	Store      *table.Store                   // of requests that are of no caller
	Name       func(table.Queue) fmt.Stringer // of a lock, in errors
	Closed     context.Context                // ends when the client is closed
	Observer   *heartbeat.Observer
	Log        *slog.Logger
	Background func(func()) // runs what the client's Close waits for
	Local      *handover.Ringer
	// Users match these errors.
	Released error
	Lost     func(q table.Queue, t ticket.Number, loss *heartbeat.LossError) error
	Unknown  func(q table.Queue, err, ctx, end error) error
}

// Client has the members of one client, by queue.
type Client struct {
	Config
	renewals chan struct{} // an element for each heartbeat under way
	hung     error         // of requests that hang
	members  member.Config

	mu      sync.Mutex
	players map[[2]string]*player // guarded by mu
	closed  bool                  // guarded by mu

	listing sync.Mutex // no other mutex is taken under it
	// guarded by listing, by the id of the entry: those of the present turns that are held, or not yet released
	locks map[string]*Lock
}

// New returns a Client without members.
func New(c Config) *Client {
	m := member.Config{
		Most: c.Most, Names: c.Names, Retakes: c.Most > 1, Gather: gatherFor, Linger: lingerFor, Patience: c.Timeout,
		Arrival: leaveLimit,
	}
	return &Client{Config: c, hung: hangs(c), renewals: make(chan struct{}, maxRenewals), members: m,
		players: map[[2]string]*player{}, locks: map[string]*Lock{}}
}

// Wants is how a caller wants the lock. It is constant, and callers may share it.
type Wants struct {
	Kind  member.Kind
	Retry time.Duration // limits the attempts at a table that does not answer
	Until time.Time     // of one that does not wait: when its requests end
	// Saves receives the handle of each place in the queue. It must not block. With Kind.Saves, the row is put once the
	// returned channel is closed. Nil: nothing does.
	Saves func(queue.Handle) <-chan struct{}
	// Of one of several locks, all of which are needed.
	Wake    chan struct{} // of all of their callers; nil: it has one of its own
	Highest ticket.Number // that the counter is known to have issued
	Lazy    func() bool   // reports whether it looks seldom, since its turn is of no use before that of others; nil: never
}

// over reports whether a request of one that does not wait would come too late.
func (w *Wants) over(at time.Time) bool { return !w.Until.IsZero() && !at.Before(w.Until) }

// Call is a call of a client that wants a lock.
type Call interface {
	Values() context.Context // the context of its requests, whose end does not matter
	Queue() *table.Queue
	Wants() *Wants
	// Progress makes what receives the changes of the wait. Nil: there is no receiver.
	Progress() func(Progress)
	Log() *notify.Log
}

// Enter adds a caller. It calls Next when Wake has a value, and once when ctx has ended.
func (c *Client) Enter(ctx context.Context, call Call) *Caller {
	k := caller(ctx, call)
	c.enter(k, call.Queue())
	return k
}

// caller makes one.
func caller(ctx context.Context, call Call) *Caller {
	k := &Caller{log: call.Log(), store: call.Queue().Store, wants: call.Wants()}
	k.acquire = &acquire{Wake: k.wants.Wake, ctx: ctx, report: call.Progress(), since: time.Now()}
	if k.Wake == nil {
		k.Wake = make(chan struct{}, 1)
	}
	k.base = random.Fork(context.WithoutCancel(call.Values()))
	k.rows = random.Fork(k.base)
	return k
}

// enter adds a caller to the player of its queue.
func (c *Client) enter(k *Caller, q *table.Queue) {
	c.mu.Lock()
	p := c.playerOf(k, q)
	k.p = p
	p.mu.Lock()
	if p.enters(k); c.closed {
		k.signal()
	}
	p.mu.Unlock()
	c.mu.Unlock()
}

// playerOf returns the player of a caller's queue. c.mu is held.
func (c *Client) playerOf(k *Caller, q *table.Queue) *player {
	key := [2]string{q.Entity, q.Reason}
	p := c.players[key]
	if p == nil {
		p = c.player(k.base, q)
		c.players[key] = p
	}
	return p
}

// player returns a new player of a queue.
func (c *Client) player(ctx context.Context, of *table.Queue) *player {
	q := *of
	q.Store = c.Store
	p := &player{c: c, queue: q, ctx: random.Fork(ctx)}
	p.m = member.New(&c.members, member.Queue{Items: &p.queue.Items, Forget: q.Forget})
	return p
}

// forget removes a player of which nothing is left. It may have been removed before, and have heard of a request that
// hung: another one has its queue then.
func (c *Client) forget(p *player) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	key := [2]string{p.queue.Entity, p.queue.Reason}
	if c.players[key] == p && len(p.events) == 0 && !p.runs && len(p.callers) == 0 {
		delete(c.players, key)
	}
}

// Close ends the waits of all callers. Those that are about to hold the lock get it.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, key := range slices.SortedFunc(maps.Keys(c.players), func(a, b [2]string) int {
		return slices.Compare(a[:], b[:])
	}) {
		p := c.players[key]
		p.mu.Lock()
		for _, k := range p.callers {
			k.signal()
		}
		if p.runs || slices.ContainsFunc(p.m.Timers(), p.removesAgain) {
			p.happened(closes{})
		}
		p.mu.Unlock()
	}
}

// Woken says that a turn has ended which is of none of its locks: those that wait may be next.
func (c *Client) Woken(q table.Queue) {
	c.Local.Ends(q)
	c.mu.Lock()
	p := c.players[[2]string{q.Entity, q.Reason}]
	c.mu.Unlock()
	if p != nil {
		p.happens(member.Rung{})
	}
}

// Locks returns the locks that are held or not yet released, by queue and ticket.
func (c *Client) Locks() []*Lock {
	c.listing.Lock()
	all := slices.Collect(maps.Values(c.locks))
	c.listing.Unlock()
	slices.SortFunc(all, func(a, b *Lock) int {
		return cmp.Or(cmp.Compare(a.p.queue.String(), b.p.queue.String()), a.ticket.Compare(b.ticket))
	})
	return all
}

// Ticket returns the ticket of the present turn of the lock with that id; zero: it is not held.
func (c *Client) Ticket(id string) (t ticket.Number) {
	c.listing.Lock()
	l := c.locks[id]
	c.listing.Unlock()
	if l != nil && l.current() == machine.PhaseHeld {
		t = l.ticket
	}
	return t
}

func (c *Client) list(l *Lock) {
	c.listing.Lock()
	defer c.listing.Unlock()
	c.locks[l.id] = l
}

// unlist forgets a lock, unless a later turn has it.
func (c *Client) unlist(l *Lock) {
	c.listing.Lock()
	defer c.listing.Unlock()
	if c.locks[l.id] == l {
		delete(c.locks, l.id)
	}
}

// held returns the number of Locks.
func (c *Client) held() int {
	c.listing.Lock()
	defer c.listing.Unlock()
	return len(c.locks)
}
