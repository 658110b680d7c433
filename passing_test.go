package queuelock

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestWholeLease checks which locks may begin with the rest of a row's lease.
func TestWholeLease(t *testing.T) {
	warns := func(margin time.Duration) AcquireOption { return OnExpiring(margin, func(*Lock) {}) }
	lease := Config{}.withDefaults().WaiterTTL
	for name, test := range map[string]struct {
		opts []AcquireOption
		want bool
	}{
		"Nothing":      {},
		"LongLease":    {opts: []AcquireOption{WithTTL(lease)}},
		"ShortLease":   {opts: []AcquireOption{WithTTL(lease - 1)}, want: true},
		"LateWarning":  {opts: []AcquireOption{warns(lease / 16)}},
		"EarlyWarning": {opts: []AcquireOption{warns(lease/16 + 1)}, want: true},
		"NoHeartbeat":  {opts: []AcquireOption{NoHeartbeat()}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Client{cfg: Config{Owner: "owner"}.withDefaults()}
			s := with(c, test.opts)
			s.wait = waitpolicy.Forever
			var k member.Kind
			if s.fill(&k); k.Whole != test.want {
				t.Errorf("%t, want %t", k.Whole, test.want)
			}
		})
	}
}
