package queuelock

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/oncecall"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestPassing checks in which ways the lock of a call may be passed on, by one change of a plain call each.
func TestPassing(t *testing.T) {
	warns := func(margin time.Duration) Option { return OnExpiring(margin, func(*Lock) {}) }
	lease := Config{}.withDefaults().WaiterTTL
	alone := waiter.Passing{Offered: true, Named: true, Rings: true, Reads: true} // not in a block
	unnamed := waiter.Passing{Offered: true, Rings: true, Reads: true}
	kept := waiter.Passing{Rings: true, Reads: true}
	closed := waiter.Passing{Offered: true, Rings: true}
	for name, test := range map[string]struct {
		cfg    Config
		opts   []Option
		change func(*settings)
		want   waiter.Passing
	}{
		"Nothing":      {want: waiter.Passing{Block: true, Offered: true, Named: true, Rings: true, Reads: true}},
		"BlockOf1":     {cfg: Config{Block: 1}, want: waiter.Passing{Block: true, Offered: true, Named: true, Rings: true, Reads: true}},
		"NoWait":       {change: func(s *settings) { s.wait = waitpolicy.NoWait }, want: alone},
		"MaxWaiters0":  {opts: []Option{MaxWaiters(0)}, want: alone},
		"MaxWaiters":   {opts: []Option{MaxWaiters(1)}, want: alone},
		"OwnTTL":       {opts: []Option{WithTTL(time.Hour)}, want: alone},
		"OwnOwner":     {opts: []Option{WithOwner("another")}, want: alone},
		"OnHandle":     {opts: []Option{OnHandle(func(Handle) {})}, want: alone},
		"LateWarning":  {opts: []Option{warns(lease / 16)}, want: alone},
		"EarlyWarning": {opts: []Option{warns(lease/16 + 1)}, want: unnamed},
		"ShortLease":   {opts: []Option{WithTTL(lease - 1)}, want: unnamed},
		"WithData":     {opts: []Option{WithData([]byte("x"))}, want: unnamed},
		"LockDelay":    {opts: []Option{LockDelay(time.Second)}, want: unnamed},
		"FailClosed":   {opts: []Option{FailClosed()}, want: unnamed},
		"NoHeartbeat":  {opts: []Option{NoHeartbeat()}, want: unnamed},
		"Once":         {change: func(s *settings) { s.once = new(oncecall.Call) }, want: unnamed},
		"HoldAtLeast":  {opts: []Option{HoldAtLeast(time.Second)}, want: closed},
		"Supersede":    {opts: []Option{Supersede()}, want: kept},
		"Resume":       {change: func(s *settings) { s.resume = new(queue.Handle) }, want: kept},
		"Shared":       {opts: []Option{Shared()}, want: waiter.Passing{Offered: true}},
		"Permits":      {opts: []Option{Permits(1)}},
		"ScopeEntity":  {cfg: Config{Scope: ticket.ScopeEntity}},
		"ScopeTable":   {cfg: Config{Scope: ticket.ScopeTable}},
		"Item":         {change: func(s *settings) { s.queue.Home = new(queue.Home) }},
	} {
		t.Run(name, func(t *testing.T) {
			test.cfg.Owner = "owner"
			c := &Client{cfg: test.cfg.withDefaults()}
			s := with(c, test.opts)
			s.wait = waitpolicy.Forever
			if test.change != nil {
				test.change(s)
			}
			if got := s.passing(c); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
