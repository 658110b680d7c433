package play_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/conditions"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/transition"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// trouble is what goes wrong in the user's SDK client with the first request of a name, or with all.
type trouble struct {
	name          string
	all           bool
	before, after func(*world) // the request is sent, or was answered
}

var troubles = []trouble{
	{name: "Hangs", before: (*world).hangs},
	{name: "AllHang", all: true, before: (*world).hangs},
	{name: "HangsAnswered", after: (*world).hangs},
	{name: "Panics", before: (*world).panics},
	{name: "PanicsAlways", all: true, before: (*world).panics},
	{name: "PanicsAnswered", after: (*world).panics},
	{name: "Exits", before: (*world).exits},
	{name: "ExitsAnswered", after: (*world).exits},
	{name: "Late", before: (*world).stalls},
	{name: "LateAnswered", after: (*world).stalls},
}

func (w *world) hangs()  { w.gate.Pass() } // whatever its context says
func (w *world) panics() { panic("mistake") }
func (w *world) exits()  { runtime.Goexit() }
func (w *world) stalls() { time.Sleep(time.Hour) }

// lives are what a client does, and the names of the requests that it sends.
var lives = map[string]struct {
	sends string
	cfg   queuelock.Config
	play  func(*world)
}{
	// Turns of blocks follow each other and use the lock.
	"Block": {"GetItem, TAKE, ENQUEUE, Query, HEARTBEAT of a row, CLAIM, HEARTBEAT, SETDATA, ADVANCE, RELEASE, PASS, CLEAN UP of a row", queuelock.Config{Block: 64}, func(w *world) {
		held := locktest.Acquire(w.t, w.other, waitpolicy.Forever)
		for range 4 {
			w.turn(long, (*world).setsData)
		}
		time.Sleep(200 * time.Millisecond)
		w.turn(long, (*world).setsData, queuelock.WithData([]byte("x")))
		time.Sleep(200 * time.Millisecond)
		w.turn(time.Second, (*world).setsData, queuelock.WithData([]byte("y")))
		time.Sleep(5 * time.Second)
		locktest.Release(w.t, held)
	}},
	// A transaction loses its answer and is settled, and the lock is shared afterwards.
	"Transaction": {"TAKE, FENCE, SETTLE, DOWNGRADE, HEARTBEAT, RELEASE", queuelock.Config{Block: 1}, func(w *world) {
		w.turn(long, (*world).transacts)
		w.turn(long, (*world).transacts)
	}},
	// A holder and a waiter have crashed.
	"Crashed": {"Query, EVICT, SWEEP, CLAIM", queuelock.Config{Block: 1}, func(w *world) {
		crashed, network := locktest.Open(w.t, w.table, "crashed", locktest.TenSeconds)
		locktest.Acquire(w.t, crashed, waitpolicy.Forever)
		locktest.QueueUp(w.t.Context(), crashed, waitpolicy.For(time.Minute))
		time.Sleep(time.Second)
		network.Partition()
		w.turn(long, (*world).setsData)
	}},
	// Tickets are those of a counter of the whole table.
	"Scope": {"NUMBER, ENTER, RELEASE", queuelock.Config{Block: 1, Scope: ticket.ScopeTable}, func(w *world) {
		w.turn(long, (*world).setsData)
		w.turn(long, (*world).setsData)
	}},
}

// unawaited are requests for which no call waits: as in any goroutine, a panic of one ends the process.
var unawaited = map[string]bool{"HEARTBEAT": true, "CLEAN UP of a row": true}

const long = 5 * time.Minute

// TestTroubleAtEachRequest plays lives of a client, and lets the first request of each name go wrong. Whatever the request is, one
// caller at a time believes to hold the lock, each call returns in time, the next client gets the lock once the lease is over, and
// nothing is left.
func TestTroubleAtEachRequest(t *testing.T) {
	for name, life := range lives {
		locktest.InBubble(t, name, func(t *testing.T) {
			w := newWorld(t, life.cfg, "", trouble{})
			w.plays(life.play)
			for sent := range strings.SplitSeq(life.sends, ", ") {
				if !w.sent(sent) {
					t.Errorf("it sends no %s", sent)
				}
			}
		})
		for sent := range strings.SplitSeq(life.sends, ", ") {
			for _, trouble := range locktest.Some(troubles) {
				if strings.HasPrefix(trouble.name, "Panics") && unawaited[sent] {
					continue
				}
				locktest.InBubble(t, fmt.Sprint(name, "/", sent, "/", trouble.name), func(t *testing.T) {
					newWorld(t, life.cfg, sent, trouble).plays(life.play)
				})
			}
		}
	}
}

// world is a client beside another one, and the trouble that it has with one of its requests.
type world struct {
	trouble
	t        *testing.T
	table    *queuelocktest.Table
	db       *queuelocktest.Client
	c, other *queuelock.Client
	gate     *locktest.Gate
	calls    sync.WaitGroup

	mu    sync.Mutex
	at    string         // the name of the request
	seen  map[string]int // requests by name
	locks []granted      // that were granted
}

func newWorld(t *testing.T, cfg queuelock.Config, at string, what trouble) *world {
	table := queuelocktest.NewTable(t, queuelocktest.WithLatency(20*time.Millisecond))
	w := &world{trouble: what, t: t, table: table, at: at, seen: map[string]int{}, gate: locktest.NewGate(t)}
	w.connect()
	cfg.TTL, cfg.WaiterTTL = locktest.TenSeconds.TTL, locktest.TenSeconds.WaiterTTL
	w.c = locktest.Must(queuelock.New(w.db, table.Name(), cfg))
	w.other, _ = locktest.Open(t, table, "other", cfg)
	return w
}

func (w *world) connect() {
	w.db = w.table.Client("c", func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: transport{w, o.HTTPClient}} })
}

// transport sends the requests of the SDK client.
type transport struct {
	*world
	next interface {
		Do(*http.Request) (*http.Response, error)
	}
}

var names = sync.OnceValue(func() transition.Names { return transition.NewNames(conditions.Shapes()) })

// nameOf returns the name of a write, or the operation of another request.
func nameOf(r *http.Request, body []byte) string {
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if name == "GetItem" {
		return name
	}
	for _, write := range names().Of(body) {
		if write.Write.Name == "FENCE" && name == "UpdateItem" {
			return "SETTLE" // which is alike
		}
		name = write.Write.Name
	}
	return name
}

func (w transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body := locktest.Must(io.ReadAll(req.Body))
	req.Body = io.NopCloser(bytes.NewReader(body))
	name := nameOf(req, body)
	w.mu.Lock()
	w.seen[name]++
	troubled := name == w.at && (w.all || w.seen[name] == 1)
	w.mu.Unlock()
	if troubled && w.before != nil {
		w.before(w.world)
	}
	answer, err := w.next.Do(req)
	if troubled && w.after != nil {
		w.after(w.world)
	}
	return answer, err
}

// sent reports whether a request of that name was.
func (w *world) sent(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[name] > 0
}

// turn begins a call that waits, uses the lock, and releases it.
func (w *world) turn(wait time.Duration, use func(*world, context.Context, *queuelock.Lock), opts ...queuelock.AcquireOption) {
	w.calls.Go(func() {
		var lock *queuelock.Lock
		w.call("Acquire", wait, func(ctx context.Context) (err error) {
			lock, err = w.c.Acquire(ctx, locktest.Order, waitpolicy.For(wait), opts...)
			return err
		})
		if lock == nil {
			return
		}
		w.granted(lock)
		w.call("a use", limit, func(ctx context.Context) error { use(w, ctx, lock); return nil })
		time.Sleep(4 * time.Second) // a heartbeat
		w.call("Release", limit, lock.Release)
	})
}

// limit is that of the context of a call of a holder.
const limit = 20 * time.Second

// call makes a call, which may panic or end its goroutine. It returns within its limit, and the time after which a request counts as
// one that hangs.
func (w *world) call(what string, limit time.Duration, f func(context.Context) error) {
	done := make(chan struct{})
	begun := time.Now()
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil && v != "mistake" {
				w.t.Errorf("%s panics with %v", what, v)
			}
		}()
		ctx, cancel := context.WithTimeout(w.t.Context(), limit)
		defer cancel()
		if err := f(ctx); !documented(err) && !(what == "Release" && strings.Contains(err.Error(), "its lease of 10s ends it")) {
			w.t.Errorf("%s returns %v", what, err)
		}
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Hour):
		w.t.Errorf("%s does not return", what)
		w.gate.Open()
	}
	if took := time.Since(begun); took > limit+45*time.Second {
		w.t.Errorf("%s takes %v", what, took)
	}
	<-done
}

// documented reports whether an error is of a kind that the documentation of the calls has.
func documented(err error) bool {
	if err == nil {
		return true
	}
	for _, kind := range []error{
		queuelock.ErrNotAcquired, queuelock.ErrUnavailable, queuelock.ErrLost, queuelock.ErrReleased, queuelock.ErrClosed, context.DeadlineExceeded,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err)
	return unknown
}

// granted is a lock that a caller has got.
type granted interface {
	Ticket() ticket.Number
	Err() error
}

// granted checks that no other caller relies on the lock.
func (w *world) granted(lock granted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, earlier := range w.locks {
		if earlier.Err() == nil {
			w.t.Errorf("ticket %s is granted while %s relies on the lock", lock.Ticket(), earlier.Ticket())
		}
	}
	w.locks = append(w.locks, lock)
}

func (w *world) setsData(ctx context.Context, lock *queuelock.Lock) {
	_ = lock.SetData(ctx, []byte("z"))
}

func (w *world) transacts(ctx context.Context, lock *queuelock.Lock) {
	lost := w.db.Inject(queuelocktest.SwallowRequest().Of("TransactWriteItems"))
	defer lost.Remove()
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	defer func() {
		lost.Remove()
		_ = lock.Downgrade(ctx)
	}()
	_ = lock.Transact(soon, locktest.Deposit(w.table, nil))
}

// plays plays a life, and judges what it leaves.
func (w *world) plays(life func(*world)) {
	life(w)
	w.calls.Wait()
	next, err := w.other.Acquire(w.t.Context(), locktest.Order, waitpolicy.For(time.Minute))
	if locktest.Check(w.t, err); err == nil {
		w.granted(next)
		locktest.Release(w.t, next)
	}
	w.gate.Open()
	if err := w.c.Close(w.t.Context()); !documented(err) {
		w.t.Errorf("Close returns %v", err)
	}
	time.Sleep(time.Minute)
	if rows, holders := locktest.RowsAndHolders(w.t, w.other); rows+holders > 0 {
		w.t.Errorf("%d rows and %d holders are left", rows, holders)
	}
}
