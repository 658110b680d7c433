package modes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestBadOptions checks that wrong bounds, and options that cannot be combined, are one error, and send nothing.
func TestBadOptions(t *testing.T) {
	table := queuelocktest.NewTable(t)
	c, db := locktest.Open(t, table, "a", queuelock.Config{})
	delay, least := queuelock.LockDelay, queuelock.HoldAtLeast
	group := func(name string) queuelock.Option { return queuelock.Supersede(queuelock.Group(name)) }
	expiring := queuelock.OnExpiring(time.Second, func(*queuelock.Lock) {})
	type options = []queuelock.AcquireOption
	for _, bad := range []struct {
		opts options
		says []string
	}{
		{options{queuelock.Permits(0)}, []string{"Permits(0): between 1 and 500 are"}},
		{options{queuelock.Permits(501)}, []string{"Permits(501): between"}},
		{options{queuelock.Permits(2), queuelock.Shared()}, []string{"cannot be combined"}},
		{options{queuelock.Shared(), queuelock.Permits(1)}, []string{"semaphore has no write"}},
		{options{delay(-time.Second)}, []string{"LockDelay", "-1s", "24h"}},
		{options{delay(24*time.Hour + 1)}, []string{"LockDelay", "24h0m0.000000001s", "24h0m0s"}},
		{options{delay(1500 * time.Microsecond)}, []string{"LockDelay", "1.5ms", "whole milliseconds"}},
		{options{least(0)}, []string{"HoldAtLeast", "0s", "144h"}},
		{options{least(queue.MaxAtLeast + 1)}, []string{"HoldAtLeast", "144h0m0.000000001s"}},
		{options{least(1500 * time.Microsecond)}, []string{"HoldAtLeast", "1.5ms", "whole milliseconds"}},
		{options{least(time.Minute), queuelock.Shared()}, []string{"Shared", "HoldAtLeast"}},
		{options{queuelock.FailClosed(), expiring}, []string{"FailClosed", "OnExpiring", "no deadline"}},
		{options{delay(time.Second), queuelock.FailClosed()}, []string{"FailClosed", "LockDelay"}},
		{options{queuelock.MaxWaiters(-1)}, []string{"MaxWaiters(-1): 0 to 10000 are possible"}},
		{options{queuelock.MaxWaiters(10_001)}, []string{"MaxWaiters(10001): 0 to 10000 are possible"}},
		{options{queuelock.MaxWaiters(1), queuelock.Supersede()}, []string{"MaxWaiters and Supersede cannot be combined"}},
		{options{group("")}, []string{"Group of Supersede has 0 bytes: 1 to 256"}},
		{options{group(strings.Repeat("x", 257))}, []string{"Group of Supersede has 257 bytes: 1 to 256"}},
		{options{group("a\nb")}, []string{`Group of Supersede contains "\n": only printable`}},
		{options{queuelock.CreateItem()}, []string{"CreateItem is for LockItem"}},
		{options{queuelock.KeepPlace(15*time.Second - 1)}, []string{"KeepPlace(14.999999999s): between 15s and 24h0m0s"}},
		{options{queuelock.KeepPlace(time.Minute)}, []string{"KeepPlace and NoWait cannot be combined"}},
		{options{queuelock.KeepPlace(time.Minute), queuelock.FailClosed()}, []string{"KeepPlace"}},
	} {
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, bad.opts...)
		locktest.Says(t, err, bad.says...)
	}
	for _, bad := range []struct {
		opt  queuelock.AcquireOption
		says string
	}{
		{queuelock.OnHandle(func(queuelock.Handle) {}), "OnHandle and KeepPlace are for Acquire"},
		{queuelock.KeepPlace(time.Minute), "OnHandle and KeepPlace are for Acquire"},
		{queuelock.MaxWaiters(0), "MaxWaiters and Supersede are for Acquire"},
		{queuelock.Supersede(), "MaxWaiters and Supersede are for Acquire"},
	} {
		_, err := c.AcquireAll(t.Context(), locktest.KeysOf("a", "b"), waitpolicy.Forever, bad.opt)
		locktest.Says(t, err, "queuelock: AcquireAll: "+bad.says)
	}
	for says, opt := range map[string]queuelock.AcquireOption{
		"Resume and MaxWaiters cannot be combined": queuelock.MaxWaiters(1), "FailClosed": queuelock.FailClosed(),
	} {
		handle := queuelock.Handle{Key: locktest.Order, Ticket: ticket.FromUint64(1), ID: "x"}
		_, err := c.Resume(t.Context(), handle, waitpolicy.Forever, opt)
		locktest.Says(t, err, "Resume", says)
	}
	locktest.SentNothing(t, db)
}
