package acquire_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// saved is a handle that was written down and read again.
func saved(t *testing.T, h queuelock.Handle) (read queuelock.Handle) {
	t.Helper()
	text := locktest.Must(json.Marshal(h))
	if err := json.Unmarshal(text, &read); err != nil || read != h {
		t.Fatalf("%s is read as %+v, %v", text, read, err)
	}
	return read
}

// TestResume checks that a lock is resumed with its ticket.
func TestResume(t *testing.T) {
	for name, claimed := range map[string]bool{"served at once": false, "after a wait": true} {
		for what, fault := range map[string]queuelocktest.Fault{
			"no fault":      queuelocktest.DelayRequest(0),
			"request lost":  queuelocktest.LoseRequest(),
			"response lost": queuelocktest.LoseResponse(),
			"it comes late": queuelocktest.Duplicate(3 * time.Second),
		} {
			locktest.InWatched(t, name+", "+what, func(t *testing.T, table *queuelocktest.Table) {
				old, dbOld, other := locktest.Pair(t, table, locktest.TenSeconds, "old", "other")
				var before *queuelock.Lock
				if claimed {
					first := locktest.Acquire(t, other, waitpolicy.NoWait)
					waiting := locktest.Waiting(t, old)
					locktest.Release(t, first)
					time.Sleep(time.Second)
					before = locktest.Granted(t, "the one that dies", waiting)
				} else {
					before = locktest.Acquire(t, old, waitpolicy.NoWait, queuelock.WithData([]byte("kept")))
				}
				h := saved(t, before.Handle())
				condition := before.Condition()
				behind := locktest.LockBy(t, other)
				time.Sleep(2 * time.Second)
				dbOld.Partition() // dead
				c, db := locktest.Open(t, table, "new", locktest.TenSeconds)
				db.Inject(fault.Of("UpdateItem").Times(1))
				lock := locktest.Must(c.Resume(t.Context(), h, waitpolicy.NoWait))
				if lock.Ticket() != before.Ticket() {
					t.Errorf("resumed with ticket %s, want %s", lock.Ticket(), before.Ticket())
				}
				if s, err := c.Viewer().Inspect(t.Context(), locktest.Order); err != nil || len(s.Serving) != 1 || !claimed && string(s.Serving[0].Data) != "kept" {
					t.Errorf("%+v, %v", s, err)
				}
				if err := locktest.WithCondition(t, table, condition); err == nil {
					t.Error("a write of the process that died was made")
				}
				locktest.Check(t, lock.Transact(t.Context(), locktest.Deposit(table, nil)))
				_, err := c.Resume(t.Context(), h, waitpolicy.NoWait) // once more
				locktest.Is(t, err, queuelock.ErrGone)
				locktest.Says(t, err, `queuelock: the handle of "order-7" (lock), ticket `+h.Ticket.String()+", can no longer be resumed: another process holds the lock with this ticket, as after an earlier Resume")
				time.Sleep(time.Minute)
				locktest.Check(t, lock.Err())
				locktest.StillWaits(t, "the one behind", behind)
				locktest.Release(t, lock)
				time.Sleep(3 * time.Second)
				locktest.Release(t, locktest.Granted(t, "the one behind", behind))
			})
		}
	}
}

// queueToDie lets c wait, which must not be served, and returns its place a second later.
func queueToDie(t *testing.T, c *queuelock.Client, opts ...queuelock.AcquireOption) queuelock.Handle {
	t.Helper()
	places := make(chan queuelock.Handle, 1)
	opts = append(opts, queuelock.OnHandle(func(place queuelock.Handle) { places <- place }))
	go func() {
		if _, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, opts...); err == nil {
			t.Error("the killed waiter was served")
		}
	}()
	time.Sleep(time.Second) // in the bubble
	return <-places
}

// TestResumePlace checks that of two that resume a place one does, with its ticket, also after its row was swept.
func TestResumePlace(t *testing.T) {
	for name, after := range map[string]time.Duration{"its row is there": time.Second, "its row was swept": time.Minute} {
		locktest.InWatched(t, name, func(t *testing.T, table *queuelocktest.Table) {
			holder, c := locktest.Two(t, table, locktest.TenSeconds, "holder", "new")
			old, dbOld := locktest.Open(t, table, "old", locktest.TenSeconds)
			held := locktest.Acquire(t, holder, waitpolicy.NoWait)
			h := queueToDie(t, old)
			dbOld.Partition()
			behind := locktest.LockBy(t, holder)
			time.Sleep(after)
			resumed := make(chan locktest.Outcome, 2)
			for range 2 {
				go func() {
					lock, err := c.Resume(t.Context(), h, waitpolicy.Forever)
					resumed <- locktest.Outcome{Lock: lock, Err: err}
				}()
				time.Sleep(time.Second)
			}
			err := (<-resumed).Err
			locktest.Is(t, err, queuelock.ErrGone)
			locktest.Says(t, err, "its place was lost, or resumed by another process")
			locktest.Release(t, held)
			lock := locktest.Lock(t, <-resumed)
			if lock.Ticket() != h.Ticket {
				t.Errorf("ticket %s, want %s", lock.Ticket(), h.Ticket)
			}
			locktest.StillWaits(t, "the one behind", behind)
			locktest.Release(t, lock)
			locktest.Release(t, locktest.Lock(t, <-behind))
		})
	}
}

// TestLateClaim checks that a late CLAIM of the crashed process is granted to the process that resumed.
func TestLateClaim(t *testing.T) {
	locktest.WithWatched(t, func(t *testing.T, table *queuelocktest.Table) {
		old, dbOld, holder := locktest.Pair(t, table, locktest.TenSeconds, "old", "holder")
		held := locktest.Acquire(t, holder, waitpolicy.NoWait)
		h := queueToDie(t, old)
		claim := dbOld.Inject(queuelocktest.HoldRequest().Mentioning("granted").Of("UpdateItem").LandingAnyway())
		locktest.Release(t, held)
		<-claim.Reached()
		dbOld.Partition()
		c, _ := locktest.Open(t, table, "new", locktest.TenSeconds)
		resumed := locktest.Background(func() (*queuelock.Lock, error) { return c.Resume(t.Context(), h, waitpolicy.Forever) })
		claim.Release()
		time.Sleep(5 * time.Second)
		lock := locktest.Granted(t, "the resumed place", resumed)
		if lock.Ticket() != h.Ticket {
			t.Errorf("ticket %s, want %s", lock.Ticket(), h.Ticket)
		}
		locktest.Release(t, lock)
	})
}

func TestResumeGone(t *testing.T) {
	locktest.WithWatched(t, func(t *testing.T, table *queuelocktest.Table) {
		a, dbA := locktest.Open(t, table, "a", locktest.TenSeconds)
		b, db := locktest.Open(t, table, "b", locktest.TenSeconds)
		gone := func(what string, h queuelock.Handle, why string) {
			t.Helper()
			before := len(table.Items())
			for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
				lock, err := b.Resume(t.Context(), h, wait)
				if !errors.Is(err, queuelock.ErrGone) || errors.Is(err, queuelock.ErrNotAcquired) {
					t.Errorf("%s: %v, %v", what, lock, err)
				}
				locktest.Says(t, err, `queuelock: the handle of "order-7" (lock), ticket `+h.Ticket.String()+", can no longer be resumed: "+why)
			}
			if after := len(table.Items()); after != before {
				t.Errorf("%s: %d items became %d", what, before, after)
			}
		}
		const ended = "it was released, evicted, overtaken, or resumed by another process"
		const held = "another process holds the lock with this ticket"
		gone("of an unused queue", queuelock.Handle{Key: locktest.Order, Ticket: ticket.FromUint64(1), ID: "abcdefghijklmnopqrstuvwxyz"}, ended)
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		h := lock.Handle()
		gone("another id", queuelock.Handle{Key: locktest.Order, Ticket: h.Ticket, ID: "abcdefghijklmnopqrstuvwxyz"}, held)
		gone("a part of its id", queuelock.Handle{Key: locktest.Order, Ticket: h.Ticket, ID: h.ID[:20]}, held)
		locktest.Release(t, lock)
		gone("released", h, ended)
		lost := locktest.Acquire(t, a, waitpolicy.NoWait)
		dbA.Partition()
		next := locktest.Acquire(t, b, waitpolicy.For(time.Minute))
		dbA.Heal()
		time.Sleep(time.Second) // rows are deleted in the background
		gone("evicted", lost.Handle(), ended)
		locktest.Release(t, next)
		time.Sleep(time.Second)
		before := db.Counts().Total().Sent
		for name, h := range map[string]queuelock.Handle{"empty": {}, "no id": {Key: locktest.Order, Ticket: h.Ticket}, "no ticket": {Key: locktest.Order, ID: h.ID}, "no key": {Ticket: h.Ticket, ID: h.ID}} {
			if _, err := b.Resume(t.Context(), h, waitpolicy.NoWait); err == nil || errors.Is(err, queuelock.ErrGone) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if sent := db.Counts().Total().Sent - before; sent != 0 {
			t.Errorf("%d requests were sent for bad handles", sent)
		}
	})
}

// TestModeOfHandle checks that how a lock is held is in its handle: none of the options can change it unseen.
func TestModeOfHandle(t *testing.T) {
	modes := map[string][]queuelock.AcquireOption{"neither": nil, "Shared": {queuelock.Shared()}, "Permits(2)": {queuelock.Permits(2)}}
	for is, opts := range modes {
		for given, others := range modes {
			locktest.InWatched(t, "a lock with "+is+", resumed with "+given, func(t *testing.T, table *queuelocktest.Table) {
				a, dbA := locktest.Open(t, table, "a", locktest.TenSeconds)
				c, db := locktest.Open(t, table, "new", locktest.TenSeconds)
				before := locktest.Acquire(t, a, waitpolicy.NoWait, opts...)
				h := saved(t, before.Handle())
				dbA.Partition()
				lock, err := c.Resume(t.Context(), h, waitpolicy.NoWait, others...)
				if given != "neither" && given != is {
					locktest.Says(t, err, "Resume", given, "Acquire with", is)
					locktest.SentNothing(t, db)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if lock.Shared() != (is == "Shared") {
					t.Errorf("it is shared: %v", lock.Shared())
				}
				if again := lock.Handle(); again.Shared != h.Shared || again.Permits != h.Permits {
					t.Errorf("its handle is %+v, and that of the one before %+v", again, h)
				}
				locktest.Release(t, lock)
			})
		}
	}
	locktest.InWatched(t, "a lock that was downgraded", func(t *testing.T, table *queuelocktest.Table) {
		a, c := locktest.Two(t, table, locktest.TenSeconds, "a", "new")
		before := locktest.Acquire(t, a, waitpolicy.NoWait)
		h := before.Handle()
		locktest.OK(t, before.Downgrade(t.Context()))
		lock := locktest.Must(c.Resume(t.Context(), h, waitpolicy.NoWait))
		if !lock.Shared() {
			t.Error("it is not shared")
		}
		locktest.OK(t, lock.Transact(t.Context(), locktest.Deposit(table, nil)))
		locktest.Release(t, lock)
	})
	locktest.InWatched(t, "a reader's place", func(t *testing.T, table *queuelocktest.Table) {
		a, dbA, writer := locktest.Pair(t, table, locktest.TenSeconds, "a", "writer")
		c, _ := locktest.Open(t, table, "new", locktest.TenSeconds)
		first := locktest.Acquire(t, writer, waitpolicy.NoWait)
		h := queueToDie(t, a, queuelock.Shared())
		dbA.Partition()
		locktest.Release(t, first)
		lock, err := c.Resume(t.Context(), saved(t, h), waitpolicy.For(time.Minute))
		if err != nil || !lock.Shared() {
			t.Fatalf("%v, %v", lock, err)
		}
		reader := locktest.Acquire(t, writer, waitpolicy.For(time.Second), queuelock.Shared())
		locktest.Release(t, reader)
		locktest.Release(t, lock)
	})
}

func TestHandleJSON(t *testing.T) {
	key := queuelock.Key{Entity: "order-7", Reason: "refund"}
	for want, h := range map[string]queuelock.Handle{
		`{"key":{"entity":"order-7","reason":"refund"},"ticket":"12","id":"abc"}`:               {Key: key, Ticket: ticket.FromUint64(12), ID: "abc"},
		`{"key":{"entity":"order-7","reason":"refund"},"ticket":"12","id":"abc","shared":true}`: {Key: key, Ticket: ticket.FromUint64(12), ID: "abc", Shared: true},
		`{"key":{"entity":"order-7","reason":"refund"},"ticket":"12","id":"abc","permits":3}`:   {Key: key, Ticket: ticket.FromUint64(12), ID: "abc", Permits: 3},
	} {
		if got := string(locktest.Must(json.Marshal(h))); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		var back queuelock.Handle
		if err := json.Unmarshal([]byte(want), &back); err != nil || back != h {
			t.Errorf("%s was read as %+v, %v", want, back, err)
		}
	}
}

// TestResumeLeavesLockDelay checks that a Resume that gives up leaves a lock delay, whichever side has asked for it.
func TestResumeLeavesLockDelay(t *testing.T) {
	const delay = 90 * time.Second
	some, none := []queuelock.AcquireOption{queuelock.LockDelay(delay)}, []queuelock.AcquireOption(nil)
	for what, test := range map[string]struct{ held, resumed []queuelock.AcquireOption }{
		"of the one that died": {some, none},
		"of the Resume":        {none, some},
		"of both":              {some, []queuelock.AcquireOption{queuelock.LockDelay(time.Second)}},
		"of both, the longer":  {[]queuelock.AcquireOption{queuelock.LockDelay(time.Second)}, some},
	} {
		for how, giveUp := range map[string]func(db *queuelocktest.Client, cancel func()) error{
			"its caller cancels while the answer is on the way": func(db *queuelocktest.Client, cancel func()) error {
				answer := db.Inject(queuelocktest.HoldResponse().Of("UpdateItem").Times(1))
				<-answer.Reached()
				cancel()
				time.Sleep(100 * time.Millisecond)
				answer.Release()
				return context.Canceled
			},
			"its caller cancels, and no answer comes": func(db *queuelocktest.Client, cancel func()) error {
				db.Inject(queuelocktest.SwallowResponse().Of("UpdateItem").Times(1))
				time.Sleep(time.Second)
				cancel()
				return context.Canceled
			},
			"the table shows it when its lease is over": func(db *queuelocktest.Client, cancel func()) error {
				db.Inject(queuelocktest.SwallowResponse().Of("UpdateItem").Times(1))
				time.Sleep(time.Second)
				silent := db.Inject(queuelocktest.LoseRequest().Of("Query", "GetItem"))
				time.Sleep(12 * time.Second)
				silent.Remove()
				return queuelock.ErrGone
			},
		} {
			locktest.InWatched(t, what+"; "+how, func(t *testing.T, table *queuelocktest.Table) {
				a, dbA := locktest.Open(t, table, "a", locktest.TenSeconds)
				before := locktest.Acquire(t, a, waitpolicy.NoWait, test.held...)
				dbA.Partition()
				died := time.Now()
				c, db := locktest.Open(t, table, "new", locktest.TenSeconds)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				resumed := make(chan error, 1)
				go func() {
					time.Sleep(time.Millisecond) // the network is as the test wants it
					_, err := c.Resume(ctx, before.Handle(), waitpolicy.Forever, test.resumed...)
					resumed <- err
				}()
				want := giveUp(db, cancel)
				locktest.Is(t, <-resumed, want)
				other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
				lock := locktest.Acquire(t, other, waitpolicy.Forever)
				if took := time.Since(died); took < delay || took > delay+time.Minute {
					t.Errorf("served %v after the holder died, with a lock delay of %v", took, delay)
				}
				locktest.Release(t, lock)
			})
		}
	}
}
