package conditions

import (
	"slices"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/clause"
)

// TestCases checks that each condition of each write has a case, and each case a condition.
func TestCases(t *testing.T) {
	type pair [2]string
	there, explained := map[pair]bool{}, map[pair]bool{}
	for _, w := range Shapes() {
		for _, condition := range w.Conditions() {
			there[pair{w.Name, condition}] = true
		}
	}
	for _, c := range Cases() {
		p := pair{c.Write, c.Condition}
		if explained[p] || !there[p] {
			t.Errorf("%s has no condition %q, or two cases of it", c.Write, c.Condition)
		}
		explained[p] = true
	}
	for p := range there {
		if !explained[p] {
			t.Errorf("no case needs the condition %q of %s", p[1], p[0])
		}
	}
}

// play plays the case, with the condition or without it. It returns the world, and the request that the case is of.
func (c Case) play(t *testing.T, without bool) (*world, delivery) {
	w := newWorld()
	say := func(s step) { t.Logf("%3d s  %s", w.second(w.now), s) }
	var last delivery
	for i, s := range c.story {
		if i == len(c.story)-1 && without {
			w.leave, w.of = c.Condition, c.Write
		}
		say(s)
		w.do(s)
		last = w.last
		if w.senseless != "" {
			t.Fatalf("%s: %s", s, w.senseless)
		}
	}
	for _, s := range c.after {
		say(s)
		w.do(s)
		if w.senseless != "" && without {
			t.Fatalf("%s: %s", s, w.senseless)
		}
		w.senseless = ""
	}
	if c.breaks == Progress || len(w.foreign) == 0 && !w.edited {
		if why := w.stuck(); why != "" {
			w.breaks(Progress, "%s", why)
		}
	}
	return w, last
}

// TestConditions plays each story: with all conditions nothing is broken, and without one an invariant is.
func TestConditions(t *testing.T) {
	for _, c := range Cases() {
		if c.story == nil {
			continue
		}
		t.Run(c.Write+"/"+c.Condition, func(t *testing.T) {
			t.Log("with all conditions:")
			w, last := c.play(t, false)
			for i, what := range w.broken {
				t.Errorf("with all conditions %q is broken: %s", i, what)
			}
			c.decides(t, last)
			t.Log("without the condition:")
			w, _ = c.play(t, true)
			if w.broken[c.breaks] == "" {
				t.Errorf("without the condition %q is not broken, but %v", c.breaks, w.broken)
			}
			t.Logf("%s: %s", c.Keeps(), w.broken[c.breaks])
		})
	}
}

// decides checks that the condition alone decides what becomes of the write.
func (c Case) decides(t *testing.T, d delivery) {
	if d.write.Name != c.Write {
		t.Fatalf("the last request is %s", d.write.Name)
	}
	without, has := d.write.Without(c.Condition)
	_, fate := d.write.Apply(d.names, d.item)
	_, then := without.Apply(d.names, d.item)
	want := [2]clause.Fate{clause.Refused, clause.Applied}
	if slices.Contains([]string{"no item", "no counter"}, c.Condition) && !strings.HasSuffix(c.Write, "that seeds") {
		want = [2]clause.Fate{clause.Applied, clause.Refused} // in place of all others it lets the write through
	}
	if got := [2]clause.Fate{fate, then}; !has || got != want {
		t.Errorf("its fates with and without the condition are %v, want %v (it has the condition: %v)", got, want, has)
	}
}
