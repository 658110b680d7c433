package faultnet

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/fault"
)

// Config is the optional part of a Network.
type Config struct {
	// Latency is the time of one round trip, half of it before the request is
	// applied and half after. Zero: none.
	Latency time.Duration

	// LogLimit is how many requests the log keeps. Zero: 500.
	LogLimit int

	// WithoutCapacity leaves the capacity that requests consume out of the
	// tallies: finding it out is a good part of what a request costs.
	WithoutCapacity bool
}

// Network carries the requests of any number of connections to one engine.
type Network struct {
	engine  http.Handler
	cfg     Config
	started time.Time

	mu      sync.Mutex                            // guards the fields below; never held while waiting or while the engine works
	errands map[chan struct{}]struct{}            // one for each request that goes on without its caller; closed at its end
	calls   map[*context.CancelCauseFunc]struct{} // one for each request that waits, or is in the engine; Close calls them
	closed  bool
	counts  map[string]map[string]Tally // by client, by operation
	log     record
}

// New makes a Network before an engine. It starts nothing.
func New(engine http.Handler, cfg Config) *Network {
	if cfg.LogLimit <= 0 {
		cfg.LogLimit = 500
	}
	return &Network{
		engine:  engine,
		cfg:     cfg,
		started: time.Now(),
		errands: map[chan struct{}]struct{}{},
		calls:   map[*context.CancelCauseFunc]struct{}{},
		counts:  map[string]map[string]Tally{},
	}
}

// Connect gives a client its connection. decide is asked once for each attempt,
// from the goroutine that sends it; nil means that nothing goes wrong.
func (n *Network) Connect(client string, decide func(Request) fault.Fate) *Connection {
	if decide == nil {
		decide = func(Request) fault.Fate { return fault.Fate{} }
	}
	return &Connection{net: n, name: client, decide: decide}
}

// Counts returns a copy of the tallies by operation: of one client, or of all
// of them together if the name is empty.
func (n *Network) Counts(client string) map[string]Tally {
	n.mu.Lock()
	defer n.mu.Unlock()
	if client != "" {
		return maps.Clone(n.counts[client])
	}
	sum := map[string]Tally{}
	for _, operations := range n.counts {
		for operation, tally := range operations {
			sum[operation] = sum[operation].Add(tally)
		}
	}
	return sum
}

// Log is the latest requests, one on a line, in the order in which they were
// sent.
func (n *Network) Log() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.String()
}

// Settle waits until no copy and no abandoned request is under way. It fails
// only with the context.
func (n *Network) Settle(ctx context.Context) error {
	for {
		var next chan struct{}
		n.mu.Lock()
		for done := range n.errands {
			next = done
			break
		}
		n.mu.Unlock()
		if next == nil {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close ends the network. Requests under way are dropped where they are, and their
// callers see a closed connection, as do later ones. It does not wait; Settle does,
// and is quick after it. Closing again does nothing.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for end := range n.calls {
		(*end)(errClosed)
	}
}

// callOf returns the context of a request that waits, or is in the engine. It ends with Close.
func (n *Network) callOf(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls[&cancel] = struct{}{}
	if n.closed {
		cancel(errClosed)
	}
	return ctx, func() {
		cancel(nil)
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.calls, &cancel)
	}
}

// pass goes along one leg, up to where it is lost or swallowed.
func (n *Network) pass(ctx context.Context, leg fault.Leg) error {
	if leg.Reached != nil {
		leg.Reached()
	}
	if leg.Delay > 0 {
		timer := time.NewTimer(leg.Delay)
		defer timer.Stop()
		if err := n.wait(ctx, nil, timer.C); err != nil {
			return err
		}
	}
	if leg.Gate != nil {
		leg.Gate.Reach()
		return n.wait(ctx, leg.Gate.Opened(), nil)
	}
	return context.Cause(ctx)
}

// swallow waits until the caller gives up.
func (n *Network) swallow(ctx context.Context) error { return n.wait(ctx, nil, nil) }

// wait waits for one of two channels, for the end of ctx, or for Close. Every
// channel it waits on was made by its own goroutine or by the maker of the gate and
// the context, so a Network made outside a synctest bubble works inside.
func (n *Network) wait(ctx context.Context, over <-chan struct{}, tick <-chan time.Time) error {
	ctx, end := n.callOf(ctx)
	defer end()
	select {
	case <-over:
	case <-tick:
	case <-ctx.Done():
	}
	return context.Cause(ctx) // the caller's end wins over an end of the wait at the same moment
}

// alone runs do in an errand, which goes on if ctx ends.
func (n *Network) alone(ctx context.Context, do func(context.Context) (answer, error)) (answer, error) {
	type landed struct {
		answer answer
		err    error
	}
	result := make(chan landed, 1)
	n.errand(func() {
		a, err := do(context.WithoutCancel(ctx))
		result <- landed{a, err}
	})
	select {
	case r := <-result:
		return r.answer, r.err
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
}

// errand runs do in a goroutine that Settle waits for.
func (n *Network) errand(do func()) {
	done := make(chan struct{})
	n.mu.Lock()
	n.errands[done] = struct{}{}
	n.mu.Unlock()
	go func() {
		defer func() {
			n.mu.Lock()
			delete(n.errands, done)
			n.mu.Unlock()
			close(done)
		}()
		do()
	}()
}

func (n *Network) count(r Request, tally Tally) {
	n.mu.Lock()
	defer n.mu.Unlock()
	operations := n.counts[r.Client]
	if operations == nil {
		operations = map[string]Tally{}
		n.counts[r.Client] = operations
	}
	operations[r.Operation] = operations[r.Operation].Add(tally)
}

func (n *Network) begin(r Request, fault string, copied bool) *line {
	l := &line{request: r, fault: fault, copy: copied, sent: time.Since(n.started)}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log.add(l, n.cfg.LogLimit)
	return l
}

func (n *Network) applied(l *line, result string) {
	at := time.Since(n.started)
	n.mu.Lock()
	defer n.mu.Unlock()
	l.applied, l.result = at, result
}

func (n *Network) finish(l *line, end string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l.end, l.done = end, true
}
