package acquire_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

var (
	stressSeeds = flag.Int("blocks.seeds", 3, "how many `runs` TestBlockStress makes, each of another seed")
	stressFirst = flag.Uint64("blocks.seed", 1, "the first `seed`; the others follow it")
)

// stress is goroutines of a few clients that want one lock, in blocks, while the table fails.
type stress struct {
	t      *testing.T
	table  *queuelocktest.Table
	ends   time.Time         // of the faults, and of the last new Acquire
	evicts *queuelock.Client // of an operator, who evicts live holders; nil: there is none
	mixed  bool              // clients are closed, locks resumed, holders asked to give way, and calls wait alone beside the blocks
	open   func(i int) *queuelock.Client

	mu       sync.Mutex
	believes *queuelock.Lock // the last that was acquired, until its Release is called
	last     ticket.Number   // of the last holder
	deposits int             // that were made
	unknown  int             // that may have been made
	turns    int
	lost     int
	resumed  int
	clients  []*queuelock.Client // the present ones
	closed   []*queuelock.Client
}

// TestBlockStress lets goroutines of a few clients take turns in blocks, give up, make deposits, set data and lose their locks while
// requests are lost, delayed and refused, and clients are partitioned. At most one holder believes that it holds, tickets rise, each
// deposit is made once and in a turn, each call returns, and nothing is left after the leases.
func TestBlockStress(t *testing.T) {
	for i := range *stressSeeds {
		seed := *stressFirst + uint64(i)
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { stressed(t, seed, false) })
		})
	}
}

// TestBlockMix is TestBlockStress with more of what may happen beside blocks: clients are closed, locks are resumed by other clients,
// holders are asked to give way, and others wait alone.
func TestBlockMix(t *testing.T) {
	for i := range *stressSeeds {
		seed := *stressFirst + uint64(i)
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { stressed(t, seed, true) })
		})
	}
}

func stressed(t *testing.T, seed uint64, mixed bool) {
	r := rand.New(rand.NewPCG(seed, 1))
	table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Duration(1+r.IntN(5))*time.Millisecond))
	s := &stress{t: t, table: table, ends: time.Now().Add(30 * time.Second), mixed: mixed}
	if mixed {
		s.ends = time.Now().Add(12 * time.Second)
	}
	cfg := locktest.TenSeconds
	cfg.RequestTimeout = time.Second
	if seed%3 == 0 {
		s.evicts, _ = locktest.Open(t, table, "operator", cfg)
	}
	var nets []*queuelocktest.Client
	var watched []*witness
	sizes := []int{2, 5, 64}
	r.Shuffle(3, func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	s.open = func(i int) *queuelock.Client {
		w, cfg := &witness{}, cfg
		cfg.Block, cfg.Observer = sizes[i], event.Func(w.Observe)
		c, net := locktest.Open(t, table, fmt.Sprint(i), cfg)
		nets, watched = append(nets, net), append(watched, w)
		return c
	}
	for i := range 2 + r.IntN(2) {
		s.clients = append(s.clients, s.open(i))
	}
	var calls sync.WaitGroup
	var waiting atomic.Int64
	for i := range s.clients {
		for j := range 4 + r.IntN(9) {
			r := rand.New(rand.NewPCG(seed, uint64(100*i+j+2)))
			calls.Go(func() {
				for time.Now().Before(s.ends) {
					waiting.Add(1)
					s.turn(r, s.client(i))
					waiting.Add(-1)
					time.Sleep(time.Duration(r.IntN(3)) * time.Duration(r.IntN(40)) * time.Millisecond)
				}
			})
		}
	}
	s.faults(r, &nets)
	done := make(chan struct{})
	go func() { calls.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Minute):
		t.Fatalf("%d calls have not returned", waiting.Load())
	}
	for i, c := range append(s.clients, s.closed...) {
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("close %d: %v", i, err)
		}
	}
	time.Sleep(time.Minute) // leases
	c, _ := locktest.Open(t, table, "after", queuelock.Config{})
	begun := time.Now()
	lock := locktest.Acquire(t, c, waitpolicy.For(time.Minute))
	if took := time.Since(begun); took > time.Second || !s.last.Less(lock.Ticket()) {
		t.Errorf("ticket %s after %s, in %v", lock.Ticket(), s.last, took)
	}
	locktest.Release(t, lock)
	time.Sleep(time.Minute)
	if _, err := c.Operator().Sweep(t.Context(), locktest.Order); err != nil { // rows of requests that were late
		t.Error(err)
	}
	locktest.NothingLeft(t, table)
	if n, _ := strconv.Atoi(locktest.Balance(table)); n < s.deposits || n > s.deposits+s.unknown {
		t.Errorf("the balance is %d after %d deposits, and %d of unknown outcome", n, s.deposits, s.unknown)
	}
	for i := range watched {
		watched[i].ends(t)
	}
	if s.turns < 3 {
		t.Errorf("%d turns", s.turns)
	}
	t.Logf("%d turns, %d lost, %d resumed, %d deposits, %d unknown", s.turns, s.lost, s.resumed, s.deposits, s.unknown)
}

// faults makes faults until the end.
func (s *stress) faults(r *rand.Rand, nets *[]*queuelocktest.Client) {
	all := []queuelocktest.Fault{
		queuelocktest.LoseRequest(), queuelocktest.LoseResponse(), queuelocktest.SwallowRequest(), queuelocktest.SwallowResponse(),
		queuelocktest.DelayRequest(700 * time.Millisecond), queuelocktest.DelayRequest(3 * time.Second).LandingAnyway(),
		queuelocktest.DelayResponse(300 * time.Millisecond), queuelocktest.Duplicate(50 * time.Millisecond), queuelocktest.Duplicate(5 * time.Second),
		queuelocktest.LandLate(400 * time.Millisecond), queuelocktest.LandLate(8 * time.Second),
		queuelocktest.Refuse(queuelocktest.InternalError), queuelocktest.Throttle(event.OnDemand),
		queuelocktest.Refuse(queuelocktest.AccessDenied).Mentioning("reached"),
	}
	for time.Now().Before(s.ends) {
		net := (*nets)[max(0, len(*nets)-1-r.IntN(3))]
		pause := time.Duration(r.IntN(5000)) * time.Millisecond
		switch n := r.IntN(12); {
		case n == 0: // for up to the whole of a lease
			net.Partition()
			time.Sleep(pause * 3)
			net.Heal()
		case n == 1 && s.evicts != nil:
			if state, err := s.evicts.Viewer().Inspect(s.t.Context(), locktest.Order); err == nil && len(state.Serving) > 0 {
				_ = s.evicts.Operator().Evict(s.t.Context(), locktest.Order, state.Serving[0])
			}
		case n == 2 && s.mixed:
			s.close(r.IntN(len(s.clients)))
		case n == 3 && s.mixed:
			c := s.client(0)
			if state, err := c.Viewer().Inspect(s.t.Context(), locktest.Order); err == nil && len(state.Serving) > 0 {
				_ = c.Operator().Revoke(s.t.Context(), locktest.Order, state.Serving[0], "test", time.Second)
			}
		default:
			f := net.Inject(all[r.IntN(len(all))].WithProbability(0.05+0.4*r.Float64(), r.Uint64()))
			time.Sleep(pause)
			f.Remove()
		}
		time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
	}
}

// client returns a present client.
func (s *stress) client(i int) *queuelock.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clients[i]
}

// close closes a client, and opens another in its place.
func (s *stress) close(i int) {
	next := s.open(i)
	s.mu.Lock()
	old := s.clients[i]
	s.clients[i], s.closed = next, append(s.closed, old)
	s.mu.Unlock()
	_ = old.Close(s.t.Context()) // it is repeated in the end
}

// beside returns options of a call that waits alone, or none.
func (s *stress) beside(r *rand.Rand, wait *waitpolicy.Wait) (opts []queuelock.AcquireOption) {
	switch r.IntN(14) {
	case 0, 1:
		opts = append(opts, queuelock.MaxWaiters(r.IntN(8)))
	case 2:
		opts = append(opts, queuelock.HoldAtLeast(time.Duration(1+r.IntN(50))*time.Millisecond))
	case 3:
		opts = append(opts, queuelock.LockDelay(time.Duration(1+r.IntN(100))*time.Millisecond))
	case 4:
		opts = append(opts, queuelock.WithData([]byte("alone")))
	case 5:
		opts = append(opts, queuelock.Supersede(queuelock.Group("group")))
	case 6:
		*wait = waitpolicy.NoWait
	}
	return opts
}

// resume continues a lock at another client, before or after its Release. Only one of the two holds it.
func (s *stress) resume(r *rand.Rand, lock *queuelock.Lock) {
	h, released := lock.Handle(), r.IntN(2) == 0
	s.mu.Lock()
	if s.believes == lock {
		s.believes = nil
	}
	s.mu.Unlock()
	if released {
		_ = lock.Release(s.t.Context())
	}
	next, err := s.client(r.IntN(len(s.clients))).Resume(s.t.Context(), h, waitpolicy.For(5*time.Second))
	if err != nil {
		return
	}
	s.mu.Lock()
	s.resumed++
	s.mu.Unlock()
	if err := lock.Transact(s.t.Context(), locktest.Deposit(s.table, nil)); err == nil {
		s.t.Errorf("a deposit of %s is made after %s was resumed", lock, next)
	}
	s.begins(next, true)
	s.acts(r, s.t.Context(), next)
	time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
	s.mu.Lock()
	if s.believes == next {
		s.believes = nil
	}
	s.mu.Unlock()
	_ = next.Release(s.t.Context())
}

// turn is one Acquire, and the turn that it is granted.
func (s *stress) turn(r *rand.Rand, c *queuelock.Client) {
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	wait := waitpolicy.Forever
	switch r.IntN(4) {
	case 0:
		wait = waitpolicy.For(time.Duration(1+r.IntN(400)) * time.Millisecond)
	case 1:
		defer time.AfterFunc(time.Duration(r.IntN(1000))*time.Millisecond, cancel).Stop()
	case 2:
		defer time.AfterFunc(time.Duration(r.IntN(20))*time.Second, cancel).Stop()
	}
	var opts []queuelock.AcquireOption
	if r.IntN(4) == 0 {
		opts = append(opts, queuelock.OnProgress(func(queuelock.Progress) {}))
	}
	if s.mixed {
		opts = append(opts, s.beside(r, &wait)...)
	}
	lock, err := c.Acquire(ctx, locktest.Order, wait, opts...)
	switch {
	case err == nil:
	case s.mixed && errors.Is(err, queuelock.ErrClosed):
		return
	case errors.Is(err, queuelock.ErrNotAcquired), errors.Is(err, queuelock.ErrUnavailable), denied(err):
		return
	default:
		s.t.Errorf("Acquire: %v", err)
		return
	}
	s.begins(lock, false)
	hold := time.Duration(r.IntN(4)) * time.Duration(r.IntN(15)) * time.Millisecond
	if r.IntN(100) == 0 {
		hold = time.Duration(r.IntN(20)) * time.Second
	}
	for range r.IntN(3) {
		time.Sleep(hold)
		s.acts(r, ctx, lock)
	}
	time.Sleep(hold)
	if s.mixed && r.IntN(10) == 0 {
		s.resume(r, lock)
	}
	s.mu.Lock()
	if s.believes == lock {
		s.believes = nil
	}
	s.mu.Unlock()
	var all sync.WaitGroup
	for range 1 + r.IntN(8)/7 {
		all.Go(func() {
			if err := lock.Release(ctx); errors.Is(err, queuelock.ErrLost) {
				s.mu.Lock()
				s.lost++
				s.mu.Unlock()
			}
		})
	}
	all.Wait()
	if r.IntN(8) == 0 { // after the turn, nothing of it is made
		if err := lock.Transact(s.t.Context(), locktest.Deposit(s.table, nil)); err == nil {
			s.t.Error("a deposit is made after the turn")
		}
		if lock.Err() == nil {
			s.t.Error("a lock is held after its Release")
		}
	}
}

// begins checks that no other holder believes that it holds the lock, and that the tickets of holders rise.
func (s *stress) begins(lock *queuelock.Lock, resumed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lock.Err() != nil {
		return
	}
	s.turns++
	if s.evicts != nil { // a holder that is evicted alive, and the turns after it in its client, learn of it by a heartbeat
		return
	}
	if other := s.believes; other != nil && other.Err() == nil {
		s.t.Errorf("%s begins while %s is held", lock, other)
	}
	if !s.last.Less(lock.Ticket()) && !(resumed && s.last == lock.Ticket()) {
		s.t.Errorf("ticket %s after %s", lock.Ticket(), s.last)
	}
	s.believes, s.last = lock, lock.Ticket()
}

// acts is one thing that a holder does.
func (s *stress) acts(r *rand.Rand, ctx context.Context, lock *queuelock.Lock) {
	switch r.IntN(8) {
	case 0, 1, 2:
		err := lock.Transact(ctx, locktest.Deposit(s.table, nil))
		_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err)
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case err == nil:
			s.deposits++
		case unknown:
			s.unknown++
		}
	case 3:
		_ = lock.SetData(ctx, []byte(lock.Ticket().String()))
	case 4:
		_ = lock.Extend(ctx)
	case 5:
		_ = lock.Condition()
	case 6:
		_ = lock.Handle()
	case 7:
		if r.IntN(4) == 0 {
			_ = lock.Downgrade(ctx)
		}
	}
}

// ends checks that each acquire has an end, and no event after it.
func (w *witness) ends(t *testing.T) {
	t.Helper()
	for acquire, life := range w.lives() {
		life = others.ReplaceAllString(life, "")
		if !wholeLife.MatchString(life) {
			t.Errorf("acquire %d: %s", acquire, life)
		}
	}
}

// An acquire may wait again after it has given up, or its block was lost. Others than its own events are of its requests and those of
// its block.
var (
	others    = regexp.MustCompile(` ?\b(Throttled|Swept|Evicted|Renewed|Revoked)\b`)
	wholeLife = regexp.MustCompile(`^(Ticketed( Queued( Moved)*)?)?( Ticketed( Queued( Moved)*)?)* ?(NotAcquired|Granted( Released| Lost)?( NotAcquired)?)$`)
)

func denied(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == string(queuelocktest.AccessDenied)
}
