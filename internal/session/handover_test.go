package session

import "testing"

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
