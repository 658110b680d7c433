package play

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestClockIsRead checks that a lock is lost, and a turn does not begin, once its lease has ended by the clock, whatever the player does:
// it is stopped here.
func TestClockIsRead(t *testing.T) {
	lost := errors.New("it is lost")
	ended := map[string]func(*Lock, context.Context) bool{ // each reads the clock by itself
		"Err": func(l *Lock, _ context.Context) bool { return !l.begins() && l.Err() == lost && l.Remaining() == 0 },
		"Context": func(l *Lock, _ context.Context) bool {
			return l.Context().Err() != nil && context.Cause(l.Context()) == lost
		},
		"Within": func(_ *Lock, within context.Context) bool {
			return within.Err() != nil && context.Cause(within) == lost
		},
	}
	for name, ended := range ended {
		synctest.Test(t, func(t *testing.T) {
			c := New(Config{
				Store: new(table.Store), Lost: func(table.Queue, ticket.Number, *heartbeat.LossError) error { return lost },
				Background: func(f func()) { go f() },
			})
			l := &Lock{granted: alike, p: &player{c: c}, k: &Caller{wants: &Wants{}}, lease: lease{ends: time.Now().Add(time.Second)}}
			ctx, cancel := context.WithCancelCause(t.Context())
			l.ctx = lockContext{ctx, l, cancel}
			within, end := l.Within(t.Context())
			defer end()
			if time.Sleep(time.Second - 1); !l.begins() || l.Err() != nil || l.Remaining() != 1 || l.Context().Err() != nil || within.Err() != nil {
				t.Errorf("%s: its lease has not ended", name)
			}
			if time.Sleep(time.Nanosecond); !ended(l, within) {
				t.Errorf("%s: its lease has ended", name)
			}
		})
	}
}

// TestNamedInTime checks which rows are named that were read.
func TestNamedInTime(t *testing.T) {
	c := clock{now: time.Now()}
	for read, want := range map[time.Duration]bool{waitpolicy.NamedWithin: true, waitpolicy.NamedWithin + 1: false} {
		if got := c.Names(c.now.Add(-read)); got != want {
			t.Errorf("a row that was read %v ago is named: %v", read, got)
		}
	}
}

// TestLateAnswer checks that a request that hung, and then is answered or panics, does not end the one that has its number.
func TestLateAnswer(t *testing.T) {
	hung, next := &request{}, &request{}
	for _, late := range []member.Event{answer{a: member.Answer{Of: 0}, r: hung}, panics{of: 0, r: hung}} {
		p := &player{c: New(Config{Store: new(table.Store)}), m: member.New(&member.Config{}, member.Queue{})}
		p.requests = []*request{next}
		if p.take(late); p.requests[0] != next {
			t.Errorf("%T has ended the next request", late)
		}
	}
}

// TestForgetsItself checks that a player which was forgotten, and hears of a request that hung, does not let that of later callers be
// forgotten: the client's Close would not end their waits.
func TestForgetsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{Store: new(table.Store), Background: func(f func()) { go f() }})
		before, now := &player{c: c, m: member.New(&member.Config{}, member.Queue{})}, &player{c: c, m: member.New(&member.Config{}, member.Queue{})}
		c.players[[2]string{}] = now
		before.happens(answer{r: &request{}})
		synctest.Wait()
		if c.players[[2]string{}] != now {
			t.Error("the player of later callers is forgotten")
		}
		now.happens(answer{r: &request{}})
		synctest.Wait()
		if len(c.players) > 0 {
			t.Error("a player of which nothing is left is kept")
		}
	})
}

func lost(table.Queue, ticket.Number, *heartbeat.LossError) error { return errors.New("it is lost") }

// TestLossIsForgotten checks that nothing is kept of a lock that was lost, and which its holder does not release.
func TestLossIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{
			Store: new(table.Store), Lost: lost, Background: func(f func()) { go f() },
		})
		p := &player{c: c, m: member.New(&member.Config{}, member.Queue{})}
		k := &Caller{p: p, id: 1, wants: &Wants{Kind: member.Kind{Margin: time.Second}}}
		l := &Lock{granted: alike, p: p, k: k, caller: 1, lease: lease{ends: time.Now()}}
		ctx, cancel := context.WithCancelCause(t.Context())
		l.ctx, p.callers, c.players[[2]string{}] = lockContext{ctx, l, cancel}, []*Caller{k}, p
		if l.Err() == nil {
			t.Error("it is not lost")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(c.players)+len(p.callers) > 0 {
			t.Errorf("%d players and %d callers are kept", len(c.players), len(p.callers))
		}
	})
}

// TestLossLeavesTheList checks that Close does not find a lock of whose loss its holder has heard.
func TestLossLeavesTheList(t *testing.T) {
	for name, lose := range map[string]func(l *Lock){
		"expired": func(l *Lock) { _ = l.Err() },
		"evicted": func(l *Lock) { l.ends = time.Time{}; l.keeper().lost(nil) },
	} {
		p := &player{c: New(Config{Store: new(table.Store), Lost: lost, Background: func(func()) {}, Local: handover.New(nil, nil, nil)})}
		k := &Caller{p: p, id: 1, log: new(notify.Log), wants: &Wants{}}
		l := &Lock{granted: alike, p: p, k: k, lease: lease{ends: time.Now()}}
		p.c.list(l)
		heard := false
		l.ctx = lockContext{t.Context(), l, func(error) {
			heard = true
			if len(p.c.Locks()) > 0 {
				t.Errorf("%s: it is on the list", name)
			}
		}}
		if lose(l); !heard {
			t.Errorf("%s: it is not lost", name)
		}
	}
}

// TestTurnTooLate checks that a turn does not begin whose lease has ended before its caller has heard of it: the caller waits again.
func TestTurnTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, late := range []bool{false, true} {
			p := &player{c: New(Config{Store: new(table.Store), Background: func(func()) {}})} // it is stopped
			k := &Caller{p: p, wants: &Wants{}, acquire: &acquire{ctx: t.Context()}}
			p.enters(k)
			k.given = &Lock{granted: alike, p: p, k: k, lease: lease{ends: time.Now().Add(time.Second)}}
			p.c.list(k.given)
			if late {
				time.Sleep(time.Second)
			}
			first := k.id
			over, l, err := k.Next()
			waits := k.id != first && len(p.callers) == 1 && slices.ContainsFunc(p.events, func(e member.Event) bool { return e == member.Releases{Caller: first, Unused: true} })
			if over == late || (l == nil) != late || waits != late || err != nil {
				t.Errorf("late %t: it is over %t, with a lock %t, and waits again %t: %v", late, over, l != nil, waits, err)
			}
			if listed := len(p.c.Locks()) > 0; listed == late {
				t.Errorf("late %t: Close releases it: %t", late, listed)
			}
		}
	})
}

// TestLaterTurnIsKept checks that what becomes of a turn that came too late is nothing to its caller, who waits again.
func TestLaterTurnIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, ends := range map[string]func(*Lock){
			"Outlived": func(l *Lock) { _ = l.Err(); time.Sleep(time.Minute) },
			"Released": func(l *Lock) { l.over(member.Report{News: member.Cleared}) },
		} {
			p := &player{c: New(Config{Store: new(table.Store), Lost: lost, Background: func(func()) {}, Local: handover.New(nil, nil, nil)})}
			k := &Caller{p: p, log: new(notify.Log), wants: &Wants{}, acquire: &acquire{ctx: t.Context()}}
			p.enters(k)
			old := &Lock{granted: alike, p: p, k: k, caller: k.id, lease: lease{ends: time.Now()}}
			ctx, cancel := context.WithCancelCause(t.Context())
			old.ctx, k.given, k.lock = lockContext{ctx, old, cancel}, old, old
			if over, _, err := k.Next(); over || err != nil || k.id == old.caller {
				t.Errorf("%s: it is over %t, %v, and its number is still %d", name, over, err, k.id)
			}
			ends(old)
			synctest.Wait()
			if p.caller(k.id) != k {
				t.Errorf("%s: the caller that waits again is forgotten", name)
			}
			if slices.ContainsFunc(p.events, func(e member.Event) bool { return e == member.Forgets{Caller: k.id} }) {
				t.Errorf("%s: the member forgets it", name)
			}
		}
	})
}

// TestUnansweredTransaction checks what calls hear that wait when nothing of their lock is left: of a transaction that was sent, the
// outcome is not known, and one that was not sent was not made.
func TestUnansweredTransaction(t *testing.T) {
	l := &Lock{}
	for sent, want := range map[bool]member.News{true: member.Unsure, false: member.Failed} {
		u := &use{kind: member.Transacts, sent: sent, done: make(chan used, 1)}
		l.called().using = []*use{u}
		l.user().fails()
		if got := (<-u.done).r; got.News != want || sent != (got.Left == machine.TransactionUnsettled) || sent != (got.Err != nil) {
			t.Errorf("sent %t: %+v", sent, got)
		}
	}
}

// TestGivenWithItsReports checks that the caller of a turn gets its lock once the reports of the same step are taken: it may ask at once
// whether it is to give way.
func TestGivenWithItsReports(t *testing.T) {
	p := &player{c: New(Config{Store: new(table.Store)}), m: member.New(&member.Config{}, member.Queue{})}
	k := &Caller{p: p, id: 1, sources: sources{base: t.Context()}, log: new(notify.Log), wants: &Wants{}, acquire: &acquire{Wake: make(chan struct{}, 1)}}
	p.callers = []*Caller{k}
	p.do(member.Give{Caller: 1})
	if k.given != nil || len(k.Wake) > 0 {
		t.Error("it has the lock before the reports")
	}
	p.hands()
	if k.given == nil || len(k.Wake) == 0 {
		t.Error("it has not heard of the lock")
	}
}

// TestGivenAsItGivesUp checks that a caller gets a lock that was granted while its context ended: it alone can give that back.
func TestGivenAsItGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &player{c: New(Config{Store: new(table.Store)})}
	k := &Caller{p: p, wants: &Wants{}, acquire: &acquire{ctx: ctx, given: &Lock{}}}
	if over, l, err := k.Next(); !over || l == nil || err != nil {
		t.Errorf("it is over %t, with a lock %t: %v", over, l != nil, err)
	}
}

// call is a Call of a test.
type call struct{ wants Wants }

func (c *call) Values() context.Context { return context.Background() }
func (c *call) Queue() *table.Queue {
	return &table.Queue{Store: table.NewStore(nil, table.Layout{}, time.Second)}
}
func (c *call) Wants() *Wants          { return &c.wants }
func (*call) Progress() func(Progress) { return nil }
func (*call) Log() *notify.Log         { return new(notify.Log) }

// TestEnterAfterClose checks that a call hears of a Close that has begun before it is entered.
func TestEnterAfterClose(t *testing.T) {
	c := New(Config{Store: new(table.Store), Background: func(func()) {}})
	c.Close()
	if k := c.Enter(t.Context(), &call{}); len(k.Wake) == 0 {
		t.Error("it does not hear of the end of the client")
	}
}

// TestRenewalPanics checks that a heartbeat that panics leaves its place to others.
func TestRenewalPanics(t *testing.T) {
	p := &player{c: New(Config{Store: new(table.Store)})}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it does not panic")
			}
		}()
		p.wire().send(t.Context(), table.Queue{}, &request{Request: member.Request{Purpose: member.Beating}}, member.Send{})
	}()
	if n := len(p.c.renewals); n != 0 {
		t.Errorf("%d heartbeats count as under way", n)
	}
}

// TestForgets checks that a player is kept for as long as something is left of it. Two of one queue would not know of each other.
func TestForgets(t *testing.T) {
	for name, p := range map[string]*player{
		"Idle": {}, "Event": {events: []member.Event{member.Rung{}}}, "Runs": {runs: true}, "Caller": {callers: []*Caller{{}}},
	} {
		c := New(Config{Store: new(table.Store)})
		c.players[[2]string{}] = p
		if c.forget(p); (len(c.players) == 0) != (name == "Idle") {
			t.Errorf("%s: %d players are kept", name, len(c.players))
		}
	}
}

// TestEventAsItEnds lets an event happen just as the last one was taken, many times: none is left behind.
func TestEventAsItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &player{c: New(Config{Store: new(table.Store), Background: func(f func()) { go f() }}), m: member.New(&member.Config{}, member.Queue{})}
		for range 2000 {
			taken := make(chan struct{})
			p.happens(clears{then: func() { close(taken) }})
			<-taken
		}
	})
}

// TestAllAwaitTheTime checks that all callers go on that wait for DynamoDB's time when a request for it has failed.
func TestAllAwaitTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &player{c: New(Config{Store: new(table.Store), Background: func(func()) {}}), ctx: t.Context(), m: member.New(&member.Config{}, member.Queue{})}
		for range 3 {
			p.enters(&Caller{p: p, wants: &Wants{Retry: time.Minute}, acquire: &acquire{since: time.Now()}})
		}
		if p.undated([]int32{1, 2, 3}, errPanicked); !slices.Equal(p.waits, []int32{1, 2, 3}) {
			t.Errorf("of callers 1 to 3, %v wait", p.waits)
		}
	})
}

// TestSavesEnds checks that nothing awaits the handle of a caller that has given up before it was saved.
func TestSavesEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{}, 2)
		p := &player{c: New(Config{Store: new(table.Store), Background: func(f func()) { go func() { f(); ended <- struct{}{} }() }})}
		ctx, cancel := context.WithCancel(t.Context())
		saves := make(chan struct{})
		k := &Caller{p: p, acquire: &acquire{ctx: ctx}, wants: &Wants{Saves: func(queue.Handle) <-chan struct{} { return saves }}}
		k.saves(queue.Handle{})
		cancel()
		if synctest.Wait(); len(ended) == 0 {
			t.Error("it is awaited")
			close(saves)
		}
	})
}

// timed returns a player of a table whose clock is known, and a kind with short leases.
func timed() (*player, *member.Kind) {
	p := &player{c: New(Config{Store: new(table.Store), Attention: 10 * time.Second})}
	p.queue.Store = table.NewStore(nil, table.Layout{}, time.Second)
	now := time.Now()
	p.queue.Clock().Observe(now, now, now)
	return p, &member.Kind{TTL: 10 * time.Second, Margin: time.Second, RowTTL: 4 * time.Second}
}

// TestLeaseCountsFromItsRequest checks until when the owner of a lease relies on it, however late the answer is.
func TestLeaseCountsFromItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, k := timed()
		sent, row := time.Now(), 4*time.Second-heartbeat.Margin(4*time.Second)
		lease, _ := clock{p, sent}.Begin(k, false)
		ofRow, _ := clock{p, sent}.Begin(k, true)
		time.Sleep(3 * time.Second)
		for isRow, want := range map[bool]time.Duration{false: 9 * time.Second, true: row} {
			if got := (clock{p, time.Now()}).Ends(k, sent, isRow).Sub(sent); got != want {
				t.Errorf("row %t: it ends %v after its request, want %v", isRow, got, want)
			}
		}
		for _, c := range []struct {
			after time.Duration
			lease queue.Lease
			named bool
			want  bool
		}{
			{9*time.Second - 1, lease, false, true}, {9 * time.Second, lease, false, false},
			{row * 2 / 3, ofRow, true, true}, {row - 1, ofRow, true, false}, // a heartbeat must come first
		} {
			if got := (clock{p, sent.Add(c.after)}).Usable(k, c.lease, sent, c.named); got != c.want {
				t.Errorf("%v after its request, by name %t: it is usable: %t", c.after, c.named, got)
			}
		}
	})
}

// TestSuspendedHost checks that a lease is not relied on that DynamoDB's clock ends before the local one: the host was suspended
// after the lease was computed.
func TestSuspendedHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, suspended := range []time.Duration{0, 5 * time.Second} {
			p, k := timed()
			sent := time.Now()
			lease, _ := clock{p, sent}.Begin(k, false)
			time.Sleep(time.Second)
			now := time.Now()
			for range 2 {
				p.queue.Clock().Observe(now, now, now.Add(suspended))
			}
			c, ran := clock{p, now}, suspended == 0
			if c.Usable(k, lease, sent, false) != ran || c.Early(k, lease.Until, sent) == ran {
				t.Errorf("suspended for %v: usable %t, early %t", suspended, c.Usable(k, lease, sent, false), c.Early(k, lease.Until, sent))
			}
		}
	})
}

// TestRenewalCountsFromItsRequest checks that a holder takes the end of its lease from the member.
func TestRenewalCountsFromItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Lock{k: &Caller{wants: &Wants{}}}
		ends := time.Now().Add(time.Second)
		time.Sleep(time.Minute)
		if l.keeper().renewed(member.Report{Ends: ends}); !l.ends.Equal(ends) {
			t.Errorf("it ends %v later", l.ends.Sub(ends))
		}
	})
}

// TestFirstTimer checks that the timer is armed for the first of all.
func TestFirstTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, sent := range [][2]time.Duration{{0, time.Second}, {time.Second, 0}} {
			p, _ := timed()
			now := time.Now()
			for _, at := range sent {
				p.requests = append(p.requests, &request{sent: now.Add(at)})
			}
			p.arm()
			if got := p.at.Sub(now); got != p.c.Attention {
				t.Errorf("requests were sent %v later: it fires after %v", sent, got)
			}
			p.timer.Stop()
		}
	})
}
