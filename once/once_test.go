package once_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/once"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// returns is a function that takes that long, and counts its calls.
func returns(value string, takes time.Duration, calls *int) once.Func {
	return func(ctx context.Context, _ *queuelock.Lock) ([]byte, error) {
		*calls++
		select {
		case <-time.After(takes):
			return []byte(value), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// never is a function that must not be called.
func never(t *testing.T) once.Func {
	return func(context.Context, *queuelock.Lock) ([]byte, error) {
		t.Error("it is computed")
		return []byte("a second result"), nil
	}
}

func do(t *testing.T, locks *queuelock.Client, ttl time.Duration, fn once.Func) string {
	t.Helper()
	value, err := once.Do(t.Context(), locks, locktest.Order, ttl, fn)
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

// inTwo runs a subtest in a bubble, with the clients of two processes.
func inTwo(t *testing.T, name string, f func(t *testing.T, a, b *queuelock.Client)) {
	locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		f(t, a, b)
	})
}

// record returns the serving record of the key.
func record(t *testing.T, table *queuelocktest.Table) map[string]types.AttributeValue {
	t.Helper()
	items := table.Items()
	if len(items) != 1 {
		t.Fatalf("the table has %d items: %v", len(items), items)
	}
	return items[0]
}

func TestKept(t *testing.T) {
	locktest.InTable(t, "ForItsTTL", func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		calls := 0
		if got := do(t, a, 10*time.Minute, returns("first", time.Second, &calls)); got != "first" {
			t.Errorf("a has %q", got)
		}
		spent := locktest.Cost(table, func() {
			if got := do(t, b, time.Minute, never(t)); got != "first" {
				t.Errorf("b has %q", got)
			}
		})
		if spent.Sent != 1 || spent.ReadUnits != 1 || spent.WriteUnits != 0 {
			t.Errorf("a kept result costs %+v, want one consistent read", spent)
		}
		time.Sleep(9 * time.Minute)
		do(t, b, time.Minute, never(t))
		time.Sleep(time.Minute)
		if got := do(t, b, time.Minute, returns("second", 0, &calls)); got != "second" || calls != 2 {
			t.Errorf("after the ttl b has %q, %d were computed", got, calls)
		}
	})
	inTwo(t, "ForThoseWhoWaitedHoweverShort", func(t *testing.T, a, b *queuelock.Client) {
		calls := 0
		do(t, a, time.Millisecond, returns("old", 0, &calls))
		time.Sleep(time.Minute)
		var wg sync.WaitGroup
		wg.Go(func() { do(t, a, time.Millisecond, returns("short", 20*time.Second, &calls)) })
		time.Sleep(time.Second)
		if got := do(t, b, time.Minute, never(t)); got != "short" {
			t.Errorf("the waiter has %q", got)
		}
		wg.Wait()
		if got := do(t, b, time.Minute, returns("next", 0, &calls)); got != "next" {
			t.Errorf("a caller that has not waited has %q", got)
		}
	})
	inTwo(t, "NotIfItIsAnError", func(t *testing.T, a, b *queuelock.Client) {
		wrong, calls := errors.New("wrong"), 0
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := once.Do(t.Context(), a, locktest.Order, time.Hour, func(context.Context, *queuelock.Lock) ([]byte, error) {
				time.Sleep(5 * time.Second)
				return []byte("part of it"), wrong
			})
			locktest.Is(t, err, wrong)
		})
		time.Sleep(time.Second)
		if got := do(t, b, time.Hour, returns("right", 0, &calls)); got != "right" {
			t.Errorf("the next caller has %q", got)
		}
		wg.Wait()
		do(t, a, time.Hour, never(t))
	})
	inTwo(t, "IfItIsEmpty", func(t *testing.T, a, b *queuelock.Client) {
		calls := 0
		do(t, a, time.Hour, returns("", 0, &calls))
		if got := do(t, b, time.Hour, never(t)); got != "" {
			t.Errorf("b has %q", got)
		}
	})
	inTwo(t, "UpToTheLimit", func(t *testing.T, a, b *queuelock.Client) {
		calls := 0
		large := strings.Repeat("x", once.MaxSize)
		_, err := once.Do(t.Context(), a, locktest.Order, time.Hour, returns(large+"x", 0, &calls))
		locktest.Is(t, err, once.ErrTooLarge)
		locktest.Says(t, err, "4097", "4096", "pointer")
		do(t, a, time.Hour, returns(large, 0, &calls))
		if got := do(t, b, time.Hour, never(t)); got != large {
			t.Errorf("b has %d bytes", len(got))
		}
	})
	inTwo(t, "ByAnAcquireBesideIt", func(t *testing.T, a, b *queuelock.Client) {
		calls := 0
		do(t, a, time.Hour, returns("kept", 0, &calls))
		held := locktest.Acquire(t, b, waitpolicy.Forever)
		do(t, a, time.Hour, never(t))
		waits := make(chan *queuelock.Lock)
		go func() { waits <- locktest.Acquire(t, a, waitpolicy.Forever) }()
		time.Sleep(time.Second)
		locktest.Release(t, held)
		locktest.Release(t, <-waits)
		do(t, b, time.Hour, never(t))
	})
	t.Run("NotWithoutDates", func(t *testing.T) {
		for name, world := range map[string]struct {
			cfg  queuelock.Config
			opts []queuelocktest.Option
		}{
			"None":       {opts: []queuelocktest.Option{queuelocktest.WithoutDate()}},
			"NotTrusted": {cfg: queuelock.Config{ObserveExpiry: true}},
		} {
			locktest.InBubble(t, name, func(t *testing.T) {
				table := queuelocktest.NewTable(t, world.opts...)
				a, b := locktest.Two(t, table, world.cfg, "a", "b")
				calls := 0
				var wg sync.WaitGroup
				wg.Go(func() { do(t, a, time.Hour, returns("first", 5*time.Second, &calls)) })
				time.Sleep(time.Second)
				if got := do(t, b, time.Hour, never(t)); got != "first" {
					t.Errorf("the waiter has %q", got)
				}
				wg.Wait()
				if got := do(t, b, time.Hour, returns("second", 0, &calls)); got != "second" {
					t.Errorf("the next caller has %q", got)
				}
			})
		}
	})
}

// TestWaiters checks that waiters leave without the lock, leave nothing behind, and are reported.
func TestWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
		var mu sync.Mutex
		grants, results := 0, 0
		observe := func(e event.Event) {
			mu.Lock()
			defer mu.Unlock()
			switch e := e.(type) {
			case event.Granted:
				grants++
			case event.NotAcquired:
				locktest.Is(t, e.Err, queuelock.ErrResult)
				results++
			}
		}
		var wg sync.WaitGroup
		calls := 0
		for i := range 5 {
			c, _ := locktest.Open(t, table, fmt.Sprint("p", i), queuelock.Config{Observer: event.Func(observe)})
			for range 3 {
				wg.Go(func() {
					if got := do(t, c, time.Hour, returns("it", 3*time.Second, &calls)); got != "it" {
						t.Errorf("got %q", got)
					}
				})
			}
		}
		wg.Wait()
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		if calls != 1 || grants != 1 || results != 4 {
			t.Errorf("%d computed, %d grants, %d left with the result", calls, grants, results)
		}
		record(t, table)
	})
}

// TestJustLeft leaves a result between the first read of a caller and its TAKE.
func TestJustLeft(t *testing.T) {
	for name, held := range map[string]bool{"Idle": false, "Held": true} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
			late, lateDB := locktest.OpenMet(t, table, "late", queuelock.Config{})
			take := lateDB.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Times(1))
			calls := 0
			var wg sync.WaitGroup
			wg.Go(func() {
				if got := do(t, late, time.Hour, never(t)); got != "it" {
					t.Errorf("the late caller has %q", got)
				}
			})
			<-take.Reached()
			do(t, a, time.Hour, returns("it", 0, &calls))
			if held {
				defer locktest.Release(t, locktest.Acquire(t, b, waitpolicy.Forever))
			}
			spent := locktest.Cost(table, func() {
				take.Release()
				wg.Wait()
			})
			if spent.Sent > 1 { // and TAKE, which was sent before
				t.Errorf("it sends %+v", spent)
			}
			if rows, holders := locktest.RowsAndHolders(t, b); rows != 0 || holders != map[bool]int{true: 1}[held] {
				t.Errorf("%d rows and %d holders are left", rows, holders)
			}
		})
	}
}

func TestShown(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		calls := 0
		do(t, a, 10*time.Minute, returns("12345", 0, &calls))
		left := time.Now().Add(10 * time.Minute)
		r := locktest.Must(b.Viewer().Inspect(t.Context(), locktest.Order)).Result
		if off := left.Sub(r.Until); string(r.Value) != "12345" || r.Ticket.IsZero() || off < 0 || off > 2*time.Second {
			t.Errorf("%+v, which ends %v early", r, off)
		}
	})
}

// TestCaller checks what callers of one process get that leave, fail or come at any time.
func TestCaller(t *testing.T) {
	locktest.InTable(t, "LeavesAndTheOthersGoOn", func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		calls := 0
		fn := returns("it", 10*time.Second, &calls)
		var wg sync.WaitGroup
		wg.Go(func() { // it began the flight
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := once.Do(ctx, a, locktest.Order, time.Hour, fn)
			locktest.Is(t, err, context.DeadlineExceeded)
		})
		time.Sleep(time.Millisecond)
		if got := do(t, a, time.Hour, fn); got != "it" || calls != 1 {
			t.Errorf("the other caller has %q, %d computed", got, calls)
		}
		wg.Wait()
	})
	inTwo(t, "IsTheLastAndEndsIt", func(t *testing.T, a, b *queuelock.Client) {
		calls := 0
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		_, err := once.Do(ctx, a, locktest.Order, time.Hour, returns("it", time.Minute, &calls))
		locktest.Is(t, err, why)
		begun := time.Now()
		if got := do(t, b, time.Hour, returns("next", 0, &calls)); got != "next" || time.Since(begun) > time.Second {
			t.Errorf("the next has %q after %v", got, time.Since(begun))
		}
	})
	inTwo(t, "LeavesTheQueue", func(t *testing.T, a, b *queuelock.Client) {
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := once.Do(ctx, b, locktest.Order, time.Hour, never(t))
		locktest.Is(t, err, context.DeadlineExceeded)
		locktest.Is(t, err, queuelock.ErrNotAcquired)
		if rows, _ := locktest.RowsAndHolders(t, a); rows != 0 {
			t.Errorf("%d rows are left", rows)
		}
		locktest.Release(t, held)
	})
	locktest.InTable(t, "ComesAfterTheLastHasLeft", func(t *testing.T, table *queuelocktest.Table) {
		var grants atomic.Int32
		a, _ := locktest.Open(t, table, "a", queuelock.Config{Observer: event.Func(func(e event.Event) {
			if _, ok := e.(event.Granted); ok {
				grants.Add(1)
			}
		})})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		running := 0
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := once.Do(ctx, a, locktest.Order, time.Hour, func(context.Context, *queuelock.Lock) ([]byte, error) {
				running++
				time.Sleep(5 * time.Second) // it does not look at its context
				return []byte("late"), nil
			})
			locktest.Check(t, err) // it had to wait for that anyway
		})
		time.Sleep(2 * time.Second)
		if got := do(t, a, time.Hour, never(t)); got != "late" || running != 1 {
			t.Errorf("got %q of %d", got, running)
		}
		wg.Wait()
		time.Sleep(time.Second)
		if n := grants.Load(); n != 1 {
			t.Errorf("%d grants: the lock was passed to a caller that only wants the result", n)
		}
	})
	inTwo(t, "GetsThePanic", func(t *testing.T, a, b *queuelock.Client) {
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				defer func() {
					if r := recover(); r != "bang" {
						t.Errorf("recovered %v", r)
					}
				}()
				_, err := once.Do(t.Context(), a, locktest.Order, time.Hour, func(context.Context, *queuelock.Lock) ([]byte, error) {
					time.Sleep(time.Second)
					panic("bang")
				})
				t.Errorf("no panic: %v", err)
			})
		}
		wg.Wait()
		calls := 0
		do(t, b, time.Hour, returns("it", 0, &calls)) // at once: the lock was released
	})
	locktest.InTable(t, "GetsItsOwnBytes", func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		calls := 0
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				got, err := once.Do(t.Context(), a, locktest.Order, time.Hour, returns("it", time.Second, &calls))
				if err != nil || string(got) != "it" {
					t.Errorf("%q, %v", got, err)
				}
				got[0] = 'x'
			})
		}
		wg.Wait()
	})
	locktest.InTable(t, "EndsWithTheClient", func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		calls := 0
		closed := make(chan error, 1)
		time.AfterFunc(time.Second, func() { closed <- a.Close(t.Context()) })
		_, err := once.Do(t.Context(), a, locktest.Order, time.Hour, returns("it", time.Minute, &calls))
		locktest.Is(t, err, queuelock.ErrClosed)
		locktest.Check(t, <-closed)
		_, err = once.Do(t.Context(), a, locktest.Order, time.Hour, never(t))
		locktest.Is(t, err, queuelock.ErrClosed)
	})
	inTwo(t, "ReleasesTheLockItself", func(t *testing.T, a, b *queuelock.Client) {
		_, err := once.Do(t.Context(), a, locktest.Order, time.Hour, func(ctx context.Context, lock *queuelock.Lock) ([]byte, error) {
			return []byte("too late"), lock.Release(ctx)
		})
		locktest.Is(t, err, queuelock.ErrReleased)
		calls := 0
		do(t, b, time.Hour, returns("it", 0, &calls))
	})
}

func TestLost(t *testing.T) {
	for name, computes := range map[string]bool{"AndAnotherHasComputed": true, "AndNoneHas": false} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, aDB := locktest.Open(t, table, "a", queuelock.Config{})
			b, _ := locktest.Open(t, table, "b", queuelock.Config{})
			calls := 0
			done := make(chan error)
			var value []byte
			go func() {
				var err error
				value, err = once.Do(t.Context(), a, locktest.Order, time.Hour, func(context.Context, *queuelock.Lock) ([]byte, error) {
					time.Sleep(10 * time.Minute) // it does not notice
					aDB.Heal()
					return []byte("of a"), nil
				})
				done <- err
			}()
			time.Sleep(time.Second)
			aDB.Partition()
			if computes {
				if got := do(t, b, time.Hour, returns("of b", 0, &calls)); got != "of b" {
					t.Errorf("b has %q", got)
				}
				if err := <-done; err != nil || string(value) != "of b" {
					t.Errorf("a has %q, %v", value, err)
				}
				return
			}
			locktest.Is(t, <-done, queuelock.ErrLost)
			do(t, b, time.Hour, returns("of b", 0, &calls))
		})
	}
}

// TestMalformed lets another program write the result.
func TestMalformed(t *testing.T) {
	number := &types.AttributeValueMemberN{Value: "1"}
	text := &types.AttributeValueMemberS{Value: "x"}
	of := func(name string, value types.AttributeValue) types.AttributeValue {
		m := map[string]types.AttributeValue{"ticket": number, "value": &types.AttributeValueMemberB{Value: []byte("x")}, "until": number}
		if m[name] = value; value == nil {
			delete(m, name)
		}
		return &types.AttributeValueMemberM{Value: m}
	}
	for name, result := range map[string]types.AttributeValue{
		"NoMap": text, "NoTicket": of("ticket", nil), "TicketIsZero": of("ticket", &types.AttributeValueMemberN{Value: "0"}),
		"ValueIsText": of("value", text), "EndIsText": of("until", text), "NegativeEnd": of("until", &types.AttributeValueMemberN{Value: "1.5"}),
		"TooLarge": of("value", &types.AttributeValueMemberB{Value: make([]byte, once.MaxSize+1)}),
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, db := locktest.Open(t, table, "a", queuelock.Config{})
			locktest.Release(t, locktest.Acquire(t, a, waitpolicy.Forever))
			write := func() {
				item := record(t, table)
				locktest.Must(db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
					TableName: aws.String(table.Name()), Key: map[string]types.AttributeValue{"pk": item["pk"], "sk": item["sk"]},
					UpdateExpression: aws.String("SET #r = :r"), ExpressionAttributeNames: map[string]string{"#r": "result"},
					ExpressionAttributeValues: map[string]types.AttributeValue{":r": result},
				}))
			}
			write()
			malformed := func(err error) {
				t.Helper()
				if m, ok := errors.AsType[*queue.MalformedError](err); !ok || !strings.HasPrefix(m.Attribute, "result") {
					t.Errorf("%v", err)
				}
			}
			_, err := once.Do(t.Context(), a, locktest.Order, time.Hour, never(t))
			malformed(err)
			if r := locktest.Must(a.Viewer().Inspect(t.Context(), locktest.Order)).Result; r.Problem == nil || r.Exists() {
				t.Errorf("it is shown as %+v", r)
			}
			locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait)) // no lock depends on it
		})
	}
}

func TestArguments(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for says, do := range map[string]func() ([]byte, error){
			"client is nil": func() ([]byte, error) {
				return once.Do(t.Context(), nil, locktest.Order, time.Hour, never(t))
			},
			"function is nil": func() ([]byte, error) { return once.Do(t.Context(), a, locktest.Order, time.Hour, nil) },
			"the ttl is 0s":   func() ([]byte, error) { return once.Do(t.Context(), a, locktest.Order, 0, never(t)) },
			"between 1ms and 24h0m0s are possible": func() ([]byte, error) {
				return once.Do(t.Context(), a, locktest.Order, 25*time.Hour, never(t))
			},
			"entity": func() ([]byte, error) {
				return once.Do(t.Context(), a, queuelock.Key{}, time.Hour, never(t))
			},
			"CreateItem": func() ([]byte, error) {
				return once.Do(t.Context(), a, locktest.Order, time.Hour, never(t), queuelock.CreateItem(), nil)
			},
			"context canceled": func() ([]byte, error) { return once.Do(ended, a, locktest.Order, time.Hour, never(t)) },
		} {
			_, err := do()
			locktest.Says(t, err, says)
		}
		locktest.SentNothing(t, table)
	})
}

func TestMain(m *testing.M) { os.Exit(engines.Main(m).Run()) }
