package member

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// TestPassing checks in which ways a lock may be passed on, by one change of a plain kind each.
func TestPassing(t *testing.T) {
	alone := passing{offered: true, named: true, rings: true, reads: true} // not in a block
	unnamed := passing{offered: true, rings: true, reads: true}
	kept := passing{rings: true, reads: true}
	for name, test := range map[string]struct {
		kind Kind
		want passing
	}{
		"Nothing":    {want: passing{block: true, offered: true, named: true, rings: true, reads: true}},
		"OwnTTL":     {kind: Kind{TTL: time.Hour}, want: passing{block: true, offered: true, named: true, rings: true, reads: true}},
		"OwnOwner":   {kind: Kind{Owner: "another"}, want: passing{block: true, offered: true, named: true, rings: true, reads: true}},
		"Limited":    {kind: Kind{Policy: machine.Policy{Limited: true, Waiters: 1}}, want: alone},
		"Saves":      {kind: Kind{Saves: true}, want: alone},
		"Whole":      {kind: Kind{Whole: true}, want: unnamed},
		"Data":       {kind: Kind{Data: "x"}, want: unnamed},
		"Delay":      {kind: Kind{Delay: time.Second}, want: unnamed},
		"FailClosed": {kind: Kind{FailClosed: true}, want: unnamed},
		"Wanted":     {kind: Kind{Wanted: &machine.Wanted{}}, want: unnamed},
		"AtLeast":    {kind: Kind{AtLeast: time.Second}, want: passing{offered: true, rings: true}},
		"NoWait":     {kind: Kind{NoWait: true}, want: kept},
		"Group":      {kind: Kind{Policy: machine.Policy{Group: "all"}}, want: kept},
		"Resume":     {kind: Kind{Resume: &queue.Handle{}}, want: kept},
		"Shared":     {kind: Kind{Mode: queue.Mode{Shared: true}}, want: passing{offered: true}},
		"Permits":    {kind: Kind{Mode: queue.Mode{Permits: 1}}},
		"Entity":     {kind: Kind{Scope: ticket.ScopeEntity}},
		"Table":      {kind: Kind{Scope: ticket.ScopeTable}},
		"Home":       {kind: Kind{Home: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.kind.passing(); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
