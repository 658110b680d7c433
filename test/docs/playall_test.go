package docs_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/once"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// order is the key that these tests lock.
var order = locktest.Order

func newTable(t *testing.T) *queuelocktest.Table {
	t.Helper()
	return queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
}

// request is what was sent, with the names of the documentation.
type request struct{ operation, expression string }

// recorder collects the requests of all clients of a table.
type recorder struct {
	mu   sync.Mutex
	sent map[string][]string // operations by expression
}

func (r *recorder) record(q queuelocktest.Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range strings.Split(q.Expression(), "; ") { // of a transaction, each item's
		if q.Operation == "TransactWriteItems" && !strings.HasPrefix(e, "SET holders.") || q.Operation == "Query" || e == "" {
			continue
		}
		e = abstract(e)
		if !slices.Contains(r.sent[e], q.Operation) {
			r.sent[e] = append(r.sent[e], q.Operation)
		}
	}
	return false
}

// playAll plays what leads to each operation of the protocol, and returns the requests that were sent.
func playAll(t *testing.T) []request {
	r := recorder{sent: map[string][]string{}}
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.Inject(queuelocktest.DelayRequest(0).Where(r.record))
		a, dbA := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		dead, dbDead := locktest.Open(t, table, "dead", queuelock.Config{})

		for _, play := range []func(){
			func() { playHolder(t, table, a, dbA) },
			func() { playQueue(t, a, b, dead, dbDead) },
			func() { playItems(t, table, a, b) },
			func() { playModes(t, a) },
			func() { playResume(t, table, a) },
			func() { dbDead.Heal(); playFailClosed(t, a, b) },
			func() { playEviction(t, b, dead, dbDead) },
			func() { playScopes(t, table) },
			func() { playOnce(t, a, b) },
		} {
			play()
			time.Sleep(time.Second) // RESET, which decides whether the next play begins with a TAKE that is served
		}
		playWithoutNesting(t, r.record)
		playUndated(t, r.record)
	})
	var all []request
	for e, operations := range r.sent {
		slices.Sort(operations)
		all = append(all, request{strings.Join(operations, ", "), e})
	}
	slices.SortFunc(all, func(a, b request) int { return cmp.Compare(a.expression, b.expression) })
	return all
}

// playHolder plays the first use of a key, HEARTBEAT, SETDATA, FENCE, SETTLE and the fast RELEASE.
func playHolder(t *testing.T, table *queuelocktest.Table, c *queuelock.Client, db *queuelocktest.Client) {
	held := locktest.Acquire(t, c, waitpolicy.Forever)
	time.Sleep(2 * time.Second)
	for _, data := range []string{"half", ""} {
		locktest.Check(t, held.SetData(t.Context(), []byte(data)))
	}
	locktest.Check(t, held.Transact(t.Context(), locktest.Deposit(table, nil)))
	brief, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	unanswered := db.Inject(queuelocktest.LoseRequest().Of("TransactWriteItems"))
	if err := held.Transact(brief, locktest.Deposit(table, nil)); err == nil {
		t.Error("a transaction that was lost was made")
	}
	unanswered.Remove()
	locktest.Release(t, held)
	locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
	forgets, _ := locktest.Open(t, table, "forgets", queuelock.Config{Forget: 24 * time.Hour})
	locktest.Release(t, locktest.Acquire(t, forgets, waitpolicy.NoWait))
}

// playOnce plays RELEASE with a result, without a waiter and with one.
func playOnce(t *testing.T, a, b *queuelock.Client) {
	for _, clients := range [][]*queuelock.Client{{a}, {a, b}} {
		var all sync.WaitGroup
		for _, c := range clients {
			all.Go(func() {
				_, err := once.Do(t.Context(), c, queuelock.Key{Entity: "once"}, time.Second, func(context.Context, *queuelock.Lock) ([]byte, error) {
					time.Sleep(5 * time.Second)
					return []byte("it"), nil
				})
				locktest.Check(t, err)
			})
		}
		all.Wait()
		time.Sleep(5 * time.Second)
	}
}

// playWithoutNesting plays TAKE and the seed by a client whose engine refuses a function within a function.
func playWithoutNesting(t *testing.T, record func(queuelocktest.Request) bool) {
	table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond), locktest.WithoutNesting())
	c, _ := locktest.Open(t, table, "c", queuelock.Config{})
	locktest.Release(t, locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: "another"}, waitpolicy.Forever)))
	table.Inject(queuelocktest.DelayRequest(0).Where(record))
	locktest.Release(t, locktest.Acquire(t, c, waitpolicy.Forever))
	locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
}

// playUndated plays HEARTBEAT of grants that had no date yet, by a client whose first answers have none.
func playUndated(t *testing.T, record func(queuelocktest.Request) bool) {
	table, answers := newTable(t), &undated{}
	db := table.Client("c", func(o *dynamodb.Options) { answers.HTTPClient, o.HTTPClient = o.HTTPClient, answers })
	c := locktest.Must(queuelock.New(db, table.Name(), queuelock.Config{}))
	held := locktest.Acquire(t, c, waitpolicy.NoWait)
	endless := locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: "another"}, waitpolicy.NoWait, queuelock.FailClosed()))
	answers.over.Store(true)
	table.Inject(queuelocktest.DelayRequest(0).Where(record))
	time.Sleep(3 * time.Minute)
	locktest.Release(t, held)
	locktest.Release(t, endless)
}

// undated takes the dates out of answers until it is over.
type undated struct {
	dynamodb.HTTPClient
	over atomic.Bool
}

func (u *undated) Do(r *http.Request) (*http.Response, error) {
	answer, err := u.HTTPClient.Do(r)
	if err == nil && !u.over.Load() {
		answer.Header.Del("Date")
	}
	return answer, err
}

// playQueue plays TAKE, ENQUEUE, HEARTBEAT of a row, SWEEP, the hand-off, CLAIM, CLEAN UP, RESET and PASS.
func playQueue(t *testing.T, a, b, dead *queuelock.Client, dbDead *queuelocktest.Client) {
	held := locktest.Acquire(t, a, waitpolicy.Forever)
	leaving, leave := context.WithCancel(t.Context())
	locktest.QueueUp(leaving, dead, waitpolicy.Forever)
	time.Sleep(100 * time.Millisecond)
	waiting := locktest.LockBy(t, b)
	time.Sleep(8 * time.Second)
	dbDead.Partition()
	leave()
	time.Sleep(time.Minute)
	locktest.Release(t, held)
	locktest.Release(t, locktest.Lock(t, <-waiting))
	time.Sleep(time.Second)
	held = locktest.Acquire(t, a, waitpolicy.Forever)
	waiting = locktest.LockBy(t, a)
	time.Sleep(100 * time.Millisecond) // it sleeps until its first look, as PASS requires
	locktest.Release(t, held)
	locktest.Release(t, locktest.Lock(t, <-waiting))
}

// playItems plays the operations on the user's item that differ from those on a record of the library's own.
func playItems(t *testing.T, table *queuelocktest.Table, a, b *queuelock.Client) {
	u, id, _ := locktest.NewOrder(t, table)
	lock := locktest.LockItem(t, a, u.Key(id), waitpolicy.Forever)
	waiting := locktest.QueueUpForItem(t.Context(), b, u.Key(id), waitpolicy.Forever)
	time.Sleep(100 * time.Millisecond)
	locktest.Updated(t, lock, locktest.AddOne(), expression.AttributeExists(expression.Name("amount"))) // refused, then the hand-off
	locktest.Release(t, locktest.Lock(t, <-waiting))
	time.Sleep(time.Second)
}

// playModes plays shared locks, semaphores and DOWNGRADE.
func playModes(t *testing.T, c *queuelock.Client) {
	for reason, opt := range map[string]queuelock.AcquireOption{"read": queuelock.Shared(), "permit": queuelock.Permits(2)} {
		key := queuelock.Key{Entity: order.Entity, Reason: reason}
		first := locktest.Must(c.Acquire(t.Context(), key, waitpolicy.For(time.Minute), opt))
		second := locktest.Must(c.Acquire(t.Context(), key, waitpolicy.For(time.Minute), opt))
		locktest.Release(t, first)
		locktest.Release(t, second)
	}
	held := locktest.Acquire(t, c, waitpolicy.NoWait)
	locktest.Check(t, held.Downgrade(t.Context()))
	locktest.Release(t, held)
}

// playResume resumes a lock and a place of a process that has crashed.
func playResume(t *testing.T, table *queuelocktest.Table, c *queuelock.Client) {
	crashes, db := locktest.Open(t, table, "crashes", queuelock.Config{})
	held := locktest.Acquire(t, crashes, waitpolicy.NoWait)
	places := make(chan queuelock.Handle, 10)
	go func() {
		if _, err := crashes.Acquire(t.Context(), order, waitpolicy.Forever, queuelock.OnHandle(func(h queuelock.Handle) { places <- h })); err == nil {
			t.Error("a process that has crashed was granted the lock")
		}
	}()
	time.Sleep(time.Second)
	db.Partition()
	for _, handle := range []queuelock.Handle{held.Handle(), <-places} {
		locktest.Release(t, locktest.Must(c.Resume(t.Context(), handle, waitpolicy.For(time.Minute))))
	}
}

// playFailClosed plays CONFIRM, its HEARTBEAT, and both kinds of EVICT by an operator.
func playFailClosed(t *testing.T, holder, operator *queuelock.Client) {
	held := locktest.Acquire(t, holder, waitpolicy.NoWait, queuelock.FailClosed())
	time.Sleep(31 * time.Second)
	evict := func() {
		state := locktest.Must(operator.Viewer().Inspect(t.Context(), order))
		locktest.Check(t, operator.Operator().Evict(t.Context(), order, state.Serving[0]))
		<-held.Context().Done()
	}
	evict()
	held = locktest.Acquire(t, holder, waitpolicy.NoWait)
	evict()
}

// playEviction plays EVICT, and CLEAN UP after a TAKE without an answer.
func playEviction(t *testing.T, c, dead *queuelock.Client, dbDead *queuelocktest.Client) {
	locktest.Acquire(t, dead, waitpolicy.NoWait)
	dbDead.Partition()
	held := locktest.Acquire(t, c, waitpolicy.Forever)
	lost := dbDead.Inject(queuelocktest.LoseResponse().Of("UpdateItem").Times(1))
	dbDead.Heal()
	if _, err := dead.Acquire(t.Context(), order, waitpolicy.For(10*time.Millisecond)); !errors.Is(err, queuelock.ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
	if lost.Fired() != 1 {
		t.Error("no answer of a TAKE was lost")
	}
	locktest.Release(t, held)
}

// playScopes plays NUMBER, ENTER and RAISE.
func playScopes(t *testing.T, table *queuelocktest.Table) {
	c, db := locktest.Open(t, table, "wide", queuelock.Config{Scope: ticket.ScopeTable})
	locktest.Release(t, locktest.AcquireAll(t, c, waitpolicy.NoWait, "x", "y"))
	locktest.Release(t, locktest.AcquireAll(t, c, waitpolicy.Forever, "x", "y"))
	locktest.ForgetCounters(t, table, db)
	locktest.Release(t, locktest.AcquireAll(t, c, waitpolicy.Forever, "x", "y"))
}
