package queuelock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// README.md and docs/ repeat parts of this file, and test/docs compares them.

// With the AWS settings of the environment. The table was made by CreateTable, or by "queuelock create-table".
func Example() {
	shipOrder := func(ctx context.Context) error {
		cfg, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return err
		}
		locks, err := queuelock.New(dynamodb.NewFromConfig(cfg), "queuelock", queuelock.Config{})
		if err != nil {
			return err
		}
		key := queuelock.Key{Entity: "order-7"}
		return errors.Join(locks.Do(ctx, key, waitpolicy.For(time.Minute), ship), locks.Close(ctx))
	}
	check(shipOrder(context.Background()))
}

// Renewals fail, and the lock is about to be lost. The callback saves results while the lock is still held.
func ExampleOnExpiring() {
	ctx := context.Background()
	db := locktest.Memory()
	network := &cable{RoundTripper: db.Options().HTTPClient.(*http.Client).Transport}
	db = dynamodb.New(db.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: network} })
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{
		Owner: "worker-1", TTL: 3 * time.Second, HeartbeatInterval: 500 * time.Millisecond, RequestTimeout: 500 * time.Millisecond,
	})
	check(err)
	defer func() {
		check(locks.Close(ctx))
	}()

	save := make(chan struct{})
	err = locks.Do(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.NoWait, func(ctx context.Context, lock *queuelock.Lock) error {
		network.cut.Store(true)
		defer network.cut.Store(false)
		for {
			select {
			case <-save:
				fmt.Println("saved; held:", lock.Err() == nil)
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(10 * time.Millisecond): // a piece of work
			}
		}
	}, queuelock.OnExpiring(1500*time.Millisecond, func(*queuelock.Lock) { close(save) }))
	check(err)
	// Output:
	// saved; held: true
}

// A locker is a sync.Locker, for code that takes no other. It cannot report that its lock was lost.
type locker struct {
	locks *queuelock.Client
	key   queuelock.Key
	local sync.Mutex // one goroutine has it, also after a loss
	held  *queuelock.Lock
}

func (l *locker) Lock() {
	l.local.Lock()
	lock, err := l.locks.Acquire(context.Background(), l.key, waitpolicy.Forever)
	if err != nil {
		l.local.Unlock()
		panic(err)
	}
	l.held = lock
}

func (l *locker) Unlock() {
	err := l.held.Release(context.Background())
	l.local.Unlock()
	if _, unreleased := errors.AsType[*queuelock.UnreleasedError](err); unreleased {
		panic(err) // without FailClosed the lease ends what is left
	}
}

// A sync.Locker of a lock.
func ExampleClient_Acquire_locker() {
	locks, closed := client(locktest.Memory(), "worker-1", time.Minute)
	defer closed()

	var l sync.Locker = &locker{locks: locks, key: queuelock.Key{Entity: "printer"}}
	l.Lock()
	fmt.Println("printing")
	l.Unlock()
	// Output:
	// printing
}

// Two holders at once would be worse than none. After a crash no client is served until an operator has looked.
func ExampleFailClosed() {
	ctx := context.Background()
	db := locktest.Memory()
	key := queuelock.Key{Entity: "payroll"}

	network := &cable{RoundTripper: db.Options().HTTPClient.(*http.Client).Transport}
	cutOff := dynamodb.New(db.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: network} })
	first, closed := client(cutOff, "worker-1", time.Second)
	defer closed()
	second, closed := client(db, "worker-2", time.Second)
	defer closed()

	lock, err := first.Acquire(ctx, key, waitpolicy.NoWait, queuelock.FailClosed())
	check(err)
	network.cut.Store(true) // worker-1 is partitioned

	_, err = second.Acquire(ctx, key, waitpolicy.For(2*time.Second), queuelock.FailClosed())
	var busy *queuelock.NotAcquiredError
	if !errors.As(err, &busy) {
		fmt.Println(err)
		return
	}
	stuck := busy.Serving
	fmt.Printf("%s holds it with ticket %s, without a lease: %t\n", stuck.Owner, stuck.Ticket, stuck.Endless())

	// An operator believes that worker-1 has ended.
	check(second.Operator().Evict(ctx, key, *stuck))
	again, err := second.Acquire(ctx, key, waitpolicy.For(time.Minute), queuelock.FailClosed())
	check(err)
	fmt.Println("then served:", lock.Ticket().Less(again.Ticket()))
	check(again.Release(ctx))

	network.cut.Store(false) // worker-1 still runs, and learns of the eviction
	fmt.Println(errors.Is(lock.Release(ctx), queuelock.ErrLost))
	// Output:
	// worker-1 holds it with ticket 1, without a lease: true
	// then served: true
	// true
}

// The writer of a report continues as a reader, together with others. The next writer waits until they have ended.
func ExampleShared() {
	ctx := context.Background()
	locks, closed := client(locktest.Memory(), "alice", time.Minute)
	defer closed()
	report := queuelock.Key{Entity: "report-7"}

	err := locks.Do(ctx, report, waitpolicy.NoWait, func(ctx context.Context, lock *queuelock.Lock) error {
		fmt.Println("alice writes with ticket", lock.Ticket())
		if err := lock.Downgrade(ctx); err != nil {
			return err
		}
		return locks.Do(ctx, report, waitpolicy.NoWait, func(ctx context.Context, other *queuelock.Lock) error {
			fmt.Println("alice and bob read; bob's ticket is", other.Ticket())
			_, err := locks.Acquire(ctx, report, waitpolicy.NoWait) // to write
			fmt.Println("busy for a writer:", errors.Is(err, queuelock.ErrNotAcquired))
			return nil
		}, queuelock.Shared())
	})
	check(err)
	// Output:
	// alice writes with ticket 1
	// alice and bob read; bob's ticket is 2
	// busy for a writer: true
}

// At most two use the printer at the same time.
func ExamplePermits() {
	ctx := context.Background()
	locks, closed := client(locktest.Memory(), "alice", time.Minute)
	defer closed()
	printer := queuelock.Key{Entity: "printer-3"}

	for range 3 {
		lock, err := locks.Acquire(ctx, printer, waitpolicy.NoWait, queuelock.Permits(2))
		if err != nil {
			fmt.Println("busy:", errors.Is(err, queuelock.ErrNotAcquired))
			continue
		}
		fmt.Println("prints with ticket", lock.Ticket())
	}
	// Output:
	// prints with ticket 1
	// prints with ticket 2
	// busy: true
}

// Each holder uses an account that no other one uses at the same time.
func ExampleLock_Slot() {
	ctx := context.Background()
	locks, closed := client(locktest.Memory(), "alice", time.Minute)
	defer closed()
	tests, accounts := queuelock.Key{Entity: "tests"}, []string{"red", "green", "blue"}
	runTests := func(_ context.Context, account string) error {
		fmt.Println("test in", account)
		return nil
	}

	first, err := locks.Acquire(ctx, tests, waitpolicy.NoWait, queuelock.Permits(len(accounts)))
	check(err)
	slot, _ := first.Slot()
	fmt.Println("the first has", accounts[slot])

	err = locks.Do(ctx, tests, waitpolicy.For(time.Minute), func(ctx context.Context, lock *queuelock.Lock) error {
		slot, ok := lock.Slot()
		if !ok {
			return errors.New("the permit has no number")
		}
		return runTests(ctx, accounts[slot])
	}, queuelock.Permits(len(accounts)))
	fmt.Println(err)
	// Output:
	// the first has red
	// test in green
	// <nil>
}

// A waiter receives its place in the queue.
func ExampleOnProgress() {
	ctx := context.Background()
	db := locktest.Memory()
	alice, closed := client(db, "alice", time.Minute)
	defer closed()
	bob, closed := client(db, "bob", time.Minute)
	defer closed()
	order := queuelock.Key{Entity: "order-7"}

	waits, served := make(chan struct{}), make(chan error)
	err := alice.Do(ctx, order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error {
		go func() {
			served <- bob.Do(ctx, order, waitpolicy.Forever, ship, queuelock.OnProgress(func(p queuelock.Progress) {
				fmt.Printf("place %d, ticket %s; %s is served\n", p.Position, p.Ticket, p.Serving.Owner)
				close(waits)
			}))
		}()
		<-waits
		return nil
	})
	check(errors.Join(err, <-served))
	// Output:
	// place 1, ticket 2; alice is served
	// shipping order-7 with ticket 2
}

// A transfer locks both accounts with one ticket. A transfer in the other direction
// takes the same locks, and the two never deadlock.
func ExampleClient_AcquireAll() {
	ctx := context.Background()
	locks, err := queuelock.New(locktest.Memory(), "queuelock", queuelock.Config{Scope: ticket.ScopeTable})
	check(err)
	defer func() { _ = locks.Close(ctx) }()

	check(transfer(ctx, locks, "account-1", "account-2"))
	check(transfer(ctx, locks, "account-2", "account-1"))
	// Output:
	// account-1: token 1
	// account-2: token 1
	// account-1 to account-2 with ticket 1: true
	// account-2: token 2
	// account-1: token 2
	// account-2 to account-1 with ticket 2: true
}

func ExampleClient_Acquire() {
	ctx := context.Background()
	locks, closed := client(locktest.Memory(), "worker-1", time.Minute)
	defer closed()

	check(shipAlone(ctx, locks))
	// Output:
	// shipping order-7 with ticket 1
}

func ExampleClient_Resume() {
	ctx := context.Background()
	db := locktest.Memory()
	order := queuelock.Key{Entity: "order-7"}
	crashes, err := queuelock.New(db, "queuelock", queuelock.Config{Owner: "worker-1"})
	check(err)
	defer func() { _ = crashes.Close(ctx) }() // only so that it leaves nothing running here
	lock, err := crashes.Acquire(ctx, order, waitpolicy.NoWait)
	check(err)
	file, err := json.Marshal(lock.Handle()) // kept where the next process finds it
	check(err)

	var handle queuelock.Handle
	check(json.Unmarshal(file, &handle))
	locks, closed := client(db, "worker-1, started again", time.Minute)
	defer closed()
	lock, err = locks.Resume(ctx, handle, waitpolicy.For(time.Minute))
	if errors.Is(err, queuelock.ErrGone) {
		lock, err = locks.Acquire(ctx, order, waitpolicy.For(time.Minute))
	}
	check(err)
	fmt.Println("goes on with ticket", lock.Ticket())
	// Output:
	// goes on with ticket 1
}

// cable is a network that a test can interrupt.
type cable struct {
	http.RoundTripper
	cut atomic.Bool
}

func (c *cable) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.cut.Load() {
		return nil, errors.New("the cable is cut")
	}
	return c.RoundTripper.RoundTrip(r)
}

// transfer locks both accounts with one ticket.
func transfer(ctx context.Context, locks *queuelock.Client, from, to string) (err error) {
	both, err := locks.AcquireAll(ctx, []queuelock.Key{{Entity: from}, {Entity: to}}, waitpolicy.Forever)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, both.Release(ctx)) }()
	return move(both.Context(), both, from, to)
}

// move is what the locks protect.
func move(ctx context.Context, both *queuelock.Locks, from, to string) error {
	t, ok := both.Ticket()
	for _, lock := range both.All() {
		fmt.Printf("%s: token %s\n", lock.Key().Entity, lock.Ticket())
	}
	fmt.Printf("%s to %s with ticket %s: %v\n", from, to, t, ok)
	return ctx.Err()
}

// check ends an example of which a step has failed.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// client is one process's client of it. closed must be called in the end.
func client(db queuelock.DynamoDB, owner string, ttl time.Duration) (locks *queuelock.Client, closed func()) {
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{Owner: owner, TTL: ttl})
	check(err)
	return locks, func() { check(locks.Close(context.Background())) }
}

// ship is what a lock protects: it passes the ticket on to what it writes to.
func ship(ctx context.Context, lock *queuelock.Lock) error {
	fmt.Printf("shipping %s with ticket %s\n", lock.Key().Entity, lock.Ticket())
	return ctx.Err()
}

func shipAlone(ctx context.Context, locks *queuelock.Client) (err error) {
	lock, err := locks.Acquire(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.For(time.Minute))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release(ctx)) }()
	return ship(lock.Context(), lock) // a context that ends with the lock
}
