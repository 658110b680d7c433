package acquire_test

import (
	"encoding/json"
	"testing"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/ticket"
)

// TestHandleJSON checks the JSON of a handle, which programs save.
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
