package session

import (
	"slices"
	"testing"
)

var phases = []Phase{Held, Updating, Releasing, Released, Lost, Cleared, Unknown}

// A session that is not held never becomes held again, and a final state stays.
func TestMoves(t *testing.T) {
	for _, from := range phases {
		for _, to := range phases {
			possible := slices.Contains(moves[from], to)
			switch {
			case possible && from.Final():
				t.Errorf("%d is final, and becomes %d", from, to)
			case possible && !from.held() && to.held():
				t.Errorf("%d is over, and becomes %d", from, to)
			case possible && to == Lost && !from.held():
				t.Errorf("%d becomes lost: Err would report a loss beside a Release that returns nil", from)
			case possible && to == Unknown && from.Lost():
				t.Errorf("%d is lost, and becomes unknown: Err would forget the loss", from)
			case !possible && to == Released && !from.Final():
				t.Errorf("%d does not become released when the table shows it", from)
			}
		}
	}
	for _, final := range []Phase{Released, Cleared, Unknown} {
		if !final.Final() {
			t.Errorf("%d is not final", final)
		}
	}
}

func TestHandover(t *testing.T) {
	deliver := func(h *handover) { h.decide(&h.delivered) }
	giveBack := func(h *handover) { h.decide(&h.returned) }
	for name, c := range map[string]struct {
		steps                        []func(*handover)
		delivered, returned, decided bool
	}{
		"New":                  {nil, false, false, false},
		"Delivered":            {[]func(*handover){deliver}, true, false, true},
		"Returned":             {[]func(*handover){deliver, giveBack}, true, true, true},
		"Abandoned":            {[]func(*handover){giveBack}, false, true, true},
		"ClosedBeforeDelivery": {[]func(*handover){giveBack, deliver}, true, true, true},
		"ReleasedTwice":        {[]func(*handover){deliver, giveBack, giveBack}, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := handover{decided: make(chan struct{})}
			for _, step := range c.steps {
				step(&h)
			}
			decided := false
			select {
			case <-h.decided:
				decided = true
			default:
			}
			if h.delivered != c.delivered || h.returned != c.returned || decided != c.decided {
				t.Errorf("%+v, decided %v; want %+v", h, decided, c)
			}
		})
	}
}
