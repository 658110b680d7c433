package session

import "testing"

func TestDelivery(t *testing.T) {
	deliver := func(d *delivery) { d.decide(&d.delivered) }
	giveBack := func(d *delivery) { d.decide(&d.returned) }
	for name, c := range map[string]struct {
		steps                        []func(*delivery)
		delivered, returned, decided bool
	}{
		"New":                  {nil, false, false, false},
		"Delivered":            {[]func(*delivery){deliver}, true, false, true},
		"Returned":             {[]func(*delivery){deliver, giveBack}, true, true, true},
		"Abandoned":            {[]func(*delivery){giveBack}, false, true, true},
		"ClosedBeforeDelivery": {[]func(*delivery){giveBack, deliver}, true, true, true},
		"ReleasedTwice":        {[]func(*delivery){deliver, giveBack, giveBack}, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := delivery{decided: make(chan struct{})}
			for _, step := range c.steps {
				step(&d)
			}
			decided := false
			select {
			case <-d.decided:
				decided = true
			default:
			}
			if d.delivered != c.delivered || d.returned != c.returned || decided != c.decided {
				t.Errorf("%+v, decided %v; want %+v", d, decided, c)
			}
		})
	}
}
