package waitpolicy_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/waitpolicy"
)

func TestDelaysOfTypicalObservations(t *testing.T) {
	const ms, second = time.Millisecond, time.Second
	even := waitpolicy.Observation{Serving: true, Mean: second, Deviation: 100 * ms, Trip: 5 * ms}
	for name, test := range map[string]struct {
		ahead      int
		age, most  time.Duration
		mean, dev  time.Duration // zero: those of even
		idle, bell bool
		clearIn    time.Duration
		want       time.Duration
	}{
		"next, the turn has just begun":          {want: 795 * ms},
		"next, a long turn has just begun":       {mean: time.Minute, dev: ms, want: second},
		"next, halfway":                          {age: 500 * ms, most: 510 * ms, want: 285 * ms},
		"next, past what is sure":                {age: 900 * ms, most: 910 * ms, want: 37500 * time.Microsecond},
		"next, long before the likely end":       {age: 600 * ms, most: 1200 * ms, want: 40 * ms},
		"next, near the likely end":              {age: 940 * ms, most: 1200 * ms, dev: 8 * ms, want: 10 * ms},
		"next, at the likely end":                {age: second, most: 1200 * ms, dev: ms, want: 2500 * time.Microsecond},
		"next, long overdue":                     {age: 4 * second, most: 4 * second, want: 500 * ms},
		"next, turns of any length":              {age: 500 * ms, most: 500 * ms, dev: second, want: 40 * ms},
		"next, turns of any length, at first":    {age: 20 * ms, most: 20 * ms, dev: second, want: 10 * ms},
		"next, no holder":                        {age: second, idle: true, want: 125 * ms},
		"next, to be rung":                       {age: 500 * ms, most: 510 * ms, bell: true, want: 545 * ms},
		"next, to be rung, a long turn":          {age: 500 * ms, most: 510 * ms, mean: time.Minute, dev: second, bell: true, want: 15 * second},
		"next, to be rung, turns of any length":  {age: 500 * ms, most: 510 * ms, dev: second, bell: true, want: second},
		"second, before the present turn ends":   {ahead: 1, age: 400 * ms, most: 700 * ms, want: 363750 * time.Microsecond},
		"second, just before it ends":            {ahead: 1, age: 960 * ms, most: 980 * ms, want: 400 * ms},
		"second, turns of any length":            {ahead: 1, age: second, most: second, dev: second, want: 255 * ms},
		"second, a turn of any length has begun": {ahead: 1, age: 50 * ms, most: 50 * ms, dev: second, want: 55 * ms},
		"four ahead":                             {ahead: 4, want: 2 * second},
		"a hundred ahead":                        {ahead: 100, want: 4 * second},
		"a hundred ahead, to be rung":            {ahead: 100, bell: true, want: 15 * second},
		"after a turn of 5 s, ten ahead":         {ahead: 10, age: 20 * ms, most: 25 * ms, mean: 5 * second, dev: 2500 * ms, want: 70 * ms},
		"one turn of ten is long, five ahead":    {ahead: 5, age: 400 * ms, most: 400 * ms, mean: 58 * ms, dev: 70 * ms, want: 97500 * time.Microsecond},
		"an expired waiter ahead":                {ahead: 100, clearIn: 700 * ms, want: 700 * ms},
		"the holder's lease ends":                {age: time.Hour, most: time.Hour, clearIn: 30 * ms, want: 30 * ms},
		"it ends in an instant":                  {age: time.Hour, most: time.Hour, clearIn: 1, want: ms},
	} {
		o := even
		o.Ahead, o.Age, o.AtMost, o.Serving, o.Bell, o.ClearIn = test.ahead, test.age, test.most, !test.idle, test.bell, test.clearIn
		if test.mean > 0 {
			o.Mean = test.mean
		}
		if test.dev > 0 {
			o.Deviation = test.dev
		}
		if got := waitpolicy.Default.Delay(o, 0); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if got := waitpolicy.Default.Delay(waitpolicy.Observation{}, 0); got != waitpolicy.Default.Fastest {
		t.Errorf("nothing known: %v", got)
	}
}

func TestScheduleValidate(t *testing.T) {
	for name, test := range map[string]struct {
		schedule waitpolicy.Schedule
		valid    bool
	}{
		"Defaults":       {waitpolicy.Schedule{}.WithDefaults(), true},
		"DefaultsOfRest": {waitpolicy.Schedule{Slowest: time.Minute}.WithDefaults(), true},
		"Zero":           {waitpolicy.Schedule{}, false},
		"UpsideDown":     {waitpolicy.Schedule{Fastest: time.Minute}.WithDefaults(), false},
	} {
		if err := test.schedule.Validate(); (err == nil) != test.valid {
			t.Errorf("%s: %+v: %v", name, test.schedule, err)
		}
	}
	if got := (waitpolicy.Schedule{}).WithDefaults(); got != waitpolicy.Default {
		t.Errorf("the defaults are %+v", got)
	}
}
