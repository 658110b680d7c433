package hold_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// clocks is one way in which clocks are wrong.
type clocks struct {
	name                     string
	holder, waiter, newcomer host
	// server is by how much DynamoDB's clock is ahead of the true time; nil: it is right.
	server func(elapsed time.Duration) time.Duration
	// dates makes, for each client, the Date headers of its answers at an instant; nil: right ones.
	dates   func() func(at time.Time) []string
	noDate  bool
	observe bool          // Config.ObserveExpiry
	ttl     time.Duration // of leases; zero: ten seconds
	blind   bool          // a newcomer cannot tell by the clock that a holder is dead, and watches for a lease
	lasts   bool          // for an hour, too
}

const jumpAt = 61500 * time.Millisecond // in the middle of a hold, half-way between two heartbeats

// jumps is a server's clock that is set ahead once.
func jumps(by time.Duration) func(time.Duration) time.Duration {
	return func(elapsed time.Duration) time.Duration {
		if elapsed < jumpAt {
			return 0
		}
		return by
	}
}

// wrong dates the n-th answer of each client, from 0, wrongly by as much as it says.
func wrong(by func(n int) time.Duration) func() func(time.Time) []string {
	return func() func(time.Time) []string {
		var n atomic.Int64
		return func(at time.Time) []string {
			return []string{at.Add(by(int(n.Add(1)) - 1)).UTC().Format(http.TimeFormat)}
		}
	}
}

// always is a Date header that is the same whatever the time.
func always(header string) func() func(time.Time) []string {
	return func() func(time.Time) []string { return func(time.Time) []string { return []string{header} } }
}

func scenarios() []clocks {
	fast, slow := host{offset: 10 * time.Minute}, host{offset: -10 * time.Minute}
	quick, lazy := host{ppm: 200}, host{ppm: -200}
	set := func(by time.Duration) host { return host{jump: by, jumpAt: jumpAt} }
	// count of every so many answers in a row.
	some := func(count, every int, by time.Duration) func() func(time.Time) []string {
		return wrong(func(n int) time.Duration {
			if n%every >= every-count {
				return by
			}
			return 0
		})
	}
	var list []clocks
	add := func(name string, c clocks) { c.name = name; list = append(list, c) }
	add("all right", clocks{})
	add("holder fast, waiter slow", clocks{holder: fast, waiter: slow, newcomer: fast})
	add("holder slow, waiter fast", clocks{holder: slow, waiter: fast, newcomer: slow})
	add("holder drifts ahead, waiter behind", clocks{holder: quick, waiter: lazy, newcomer: quick, lasts: true})
	add("holder drifts behind, waiter ahead", clocks{holder: lazy, waiter: quick, newcomer: lazy, lasts: true})
	add("off and drifting", clocks{holder: host{offset: 10 * time.Minute, ppm: -200}, waiter: host{offset: -10 * time.Minute, ppm: 200}, newcomer: host{offset: 7777 * time.Millisecond, ppm: -200}})
	for _, ttl := range []time.Duration{3 * time.Second, time.Minute} {
		add(fmt.Sprintf("off and drifting, leases of %v", ttl), clocks{holder: host{offset: 10 * time.Minute, ppm: -200}, waiter: host{offset: -10 * time.Minute, ppm: 200}, newcomer: slow, ttl: ttl})
	}
	for _, by := range []time.Duration{5 * time.Minute, -5 * time.Minute} {
		add(fmt.Sprintf("holder's host jumps %v", by), clocks{holder: set(by)})
		add(fmt.Sprintf("waiter's host jumps %v", by), clocks{waiter: set(by)})
	}
	add("no Date", clocks{noDate: true, blind: true})
	for _, header := range []string{"yesterday", "", "Mon, 99 Jan 2000 00:00:00 GMT", "946684800", strings.Repeat("9", 5000)} {
		add(fmt.Sprintf("Date %.30q", header), clocks{dates: always(header), blind: true})
	}
	add("observation alone", clocks{observe: true, blind: true})
	for _, by := range []time.Duration{5 * time.Minute, -5 * time.Minute, 3 * time.Hour, -3 * time.Hour, 2 * time.Second, -2 * time.Second, 1100 * time.Millisecond, 500 * time.Millisecond} {
		add(fmt.Sprintf("Date jumps %v", by), clocks{server: jumps(by)})
	}
	add("one Date in ten is an hour ahead", clocks{dates: some(1, 10, time.Hour), blind: true})
	add("one Date in ten is an hour behind", clocks{dates: some(1, 10, -time.Hour), blind: true})
	add("three Dates in a row are an hour ahead", clocks{dates: some(3, 40, time.Hour), blind: true})
	add("half of the Dates are ten minutes ahead", clocks{dates: some(10, 20, 10*time.Minute), blind: true})
	add("hosts of DynamoDB are 100 ms off either way", clocks{lasts: true, dates: wrong(func(n int) time.Duration {
		return time.Duration(2*(n%2)-1) * 100 * time.Millisecond
	})})
	return list
}

// TestWrongClocks checks that locks survive wrong clocks. Whatever clocks say, a holder
// that renews keeps its lock, also over the longest gaps that are allowed. No holder
// trusts a lease that others have ended. A waiter or a later client follows a crashed
// holder within its lease and 1.5 s if the clock is usable.
func TestWrongClocks(t *testing.T) {
	for i, c := range locktest.Some(scenarios()) {
		t.Run(c.name, func(t *testing.T) {
			// Each at another phase of the second that a Date shows.
			phase := time.Duration(i) * 370 * time.Millisecond % time.Second
			synctest.Test(t, func(t *testing.T) { lie(t, c, phase) })
		})
	}
}

func lie(t *testing.T, c clocks, phase time.Duration) {
	time.Sleep(phase)
	s := newServer(t, c)
	ttl := cmp.Or(c.ttl, locktest.TTL)
	cfg := queuelock.Config{TTL: ttl, WaiterTTL: max(ttl/2, time.Second), ObserveExpiry: c.observe}
	stop := s.poll(locktest.Scaled(100*time.Millisecond, 300*time.Millisecond))
	defer stop()
	defer s.violations()

	holder, db := s.client("holder", c.holder, cfg)
	held := locktest.Acquire(t, holder, waitpolicy.For(time.Minute))
	s.believe("holder", held)
	waiter, dbWaiter := s.client("waiter", c.waiter, cfg)
	waiting := locktest.QueueUp(t.Context(), waiter, waitpolicy.For(30*ttl))
	alive := func(while string) {
		t.Helper()
		if err := held.Err(); err != nil {
			t.Fatalf("%s, after %v: %v", while, time.Since(s.start), err)
		}
	}

	// The longest gaps: renewals that are answered as late as they may be, and
	// a network that is back just in time.
	time.Sleep(2*ttl + 300*time.Millisecond)
	slow := db.Inject(queuelocktest.DelayResponse(min(ttl*12/100, 4*time.Second)).Of("UpdateItem"))
	time.Sleep(ttl)
	slow.Remove()
	late := db.Inject(queuelocktest.DelayRequest(min(ttl*12/100, 4*time.Second)).Of("UpdateItem"))
	time.Sleep(ttl)
	late.Remove()
	alive("slow renewals")
	s.renewed(db)
	db.Partition()
	time.Sleep(ttl * 8 / 10) // it believes for nine tenths, and tries each fortieth or so
	db.Heal()
	time.Sleep(ttl / 5)
	alive("a gap")
	time.Sleep(max(0, jumpAt-time.Since(s.start)) + 5*ttl)
	alive("the jump")

	// The holder dies right after a heartbeat.
	s.renewed(db)
	db.Partition()
	died := time.Now()
	got := <-waiting
	took := got.At.Sub(died)
	if got.Err != nil || took > ttl+locktest.TakenOverWithin {
		t.Fatalf("taken over by the waiter %v after the crash (%v), want at most %v", took, got.Err, ttl+locktest.TakenOverWithin)
	}
	s.believe("waiter", got.Lock)
	s.forget("holder")

	// So does the next, and no client waits yet.
	time.Sleep(2 * ttl)
	s.renewed(dbWaiter)
	dbWaiter.Partition()
	died = time.Now()
	arrives := ttl * 4 / 10
	time.Sleep(arrives)
	newcomer, _ := s.client("newcomer", c.newcomer, cfg)
	got = <-locktest.QueueUp(t.Context(), newcomer, waitpolicy.For(6*ttl))
	bound := max(arrives, ttl) + locktest.TakenOverWithin
	if c.blind {
		bound = arrives + ttl + locktest.TakenOverWithin
	}
	tookNewcomer := got.At.Sub(died)
	if got.Err != nil || tookNewcomer > bound {
		t.Fatalf("taken over by a newcomer %v after the crash (%v), want at most %v", tookNewcomer, got.Err, bound)
	}
	s.believe("newcomer", got.Lock)
	s.forget("waiter")
	time.Sleep(2 * ttl)
	locktest.Check(t, got.Lock.Err())
	t.Logf("taken over after %v by who waited, %v by a newcomer", took, tookNewcomer)
	s.forget("newcomer")
	locktest.Release(t, got.Lock)
}

// TestHourUnderDrift checks that no lock and no place is lost in an hour under drift, by the expected requests.
func TestHourUnderDrift(t *testing.T) {
	for _, c := range scenarios() {
		if !c.lasts {
			continue
		}
		locktest.InBubble(t, c.name, func(t *testing.T) {
			s := newServer(t, c)
			stop := s.poll(time.Second)
			defer stop()
			defer s.violations()
			cfg := queuelock.Config{TTL: time.Minute, WaiterTTL: 15 * time.Second}
			holder, db := s.client("holder", c.holder, cfg)
			held := locktest.Acquire(t, holder, waitpolicy.For(time.Minute))
			s.believe("holder", held)
			waiter, _ := s.client("waiter", c.waiter, cfg)
			waiting := locktest.QueueUp(t.Context(), waiter, waitpolicy.For(2*time.Hour))
			before := db.Counts()
			length := locktest.Scaled(time.Hour, 10*time.Minute)
			time.Sleep(length)
			locktest.OK(t, held.Err())
			beats := int(length / (30 * time.Second))
			if n := db.Counts().Sub(before).Total().Sent; n < beats-1 || n > beats*136/120 { // none late, each up to 3 s early
				t.Errorf("%d requests of the holder in %v, want one each half minute", n, length)
			}
			locktest.Release(t, held)
			s.forget("holder")
			got := <-waiting
			if got.Err != nil || got.Lock.Ticket().After(held.Ticket()) != 1 {
				t.Fatalf("%+v, want the ticket after %s", got, held.Ticket())
			}
			locktest.Release(t, got.Lock)
		})
	}
}

// TestOnlyWrongDates checks what no client can find out: that all dates that it ever receives are wrong, an hour ahead for a
// waiter, or behind for the holder. A lease that lives is ended then. The record still has one holder, tokens still increase,
// and the owner learns of it by its next heartbeat. By observation it does not happen at all.
func TestOnlyWrongDates(t *testing.T) {
	for name, off := range map[string]struct{ holder, other time.Duration }{
		"WaiterAhead": {other: time.Hour}, "HolderBehind": {holder: -8 * time.Second},
	} {
		for _, observe := range []bool{false, true} {
			locktest.InBubble(t, fmt.Sprint(name, "/observes ", observe), func(t *testing.T) {
				s := newServer(t, clocks{})
				defer s.violations()
				s.dates = wrong(func(int) time.Duration { return off.holder })
				holder, db := s.client("holder", host{}, locktest.TenSeconds)
				held := locktest.Acquire(t, holder, waitpolicy.For(time.Minute))
				s.dates = wrong(func(int) time.Duration { return off.other })
				cfg := locktest.TenSeconds
				cfg.ObserveExpiry = observe
				other, _ := s.client("other", host{}, cfg)
				s.renewed(db)
				lock, err := other.Acquire(t.Context(), locktest.Order, waitpolicy.For(4*locktest.TTL))
				if observe {
					if !errors.Is(err, queuelock.ErrNotAcquired) || held.Err() != nil {
						t.Errorf("%v, and the holder %v", err, held.Err())
					}
					locktest.Release(t, held)
					return
				}
				if err != nil || !held.Ticket().Less(lock.Ticket()) {
					t.Fatalf("%+v, %v", lock, err)
				}
				served := time.Now()
				<-held.Context().Done()
				loss, ok := errors.AsType[*queuelock.LostError](held.Err())
				if took := time.Since(served); !ok || loss.Cause != heartbeat.Evicted || took > locktest.TTL/2 {
					t.Errorf("the owner learns %v after %v", held.Err(), took)
				}
				locktest.Release(t, lock)
			})
		}
	}
}
