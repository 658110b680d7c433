package play

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

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
