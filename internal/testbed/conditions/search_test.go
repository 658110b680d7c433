package conditions

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var (
	searched = flag.Int("conditions.stories", 100, "how many stories TestSearch plays")
	seed     = flag.Uint64("conditions.seed", 1, "from which they follow")
)

// TestSearch plays stories by chance, without foreign writes. In none of them
//
//   - is an invariant broken with all conditions,
//   - is one broken without a condition of which the cases say that no story needs it,
//   - does a condition alone refuse a write, if it is said to double others.
func TestSearch(t *testing.T) {
	const steps = 40
	doubles, decided := map[[2]string]bool{}, map[[2]string]bool{}
	for _, c := range Cases() {
		if c.kept == deep || c.kept == implied {
			doubles[[2]string{c.Write, c.Condition}] = true
		}
	}
	rnd := rand.New(rand.NewPCG(*seed, 0))
	for range *searched {
		w := newWorld()
		var played story
		for range steps {
			s := draw(rnd, w)
			w.last = delivery{}
			w.do(s)
			if w.senseless != "" {
				w.senseless = ""
				continue
			}
			played = append(played, s)
			for _, name := range w.last.write.Conditions() {
				without, _ := w.last.write.Without(name)
				_, fate := w.last.write.Apply(w.last.names, w.last.item)
				_, then := without.Apply(w.last.names, w.last.item)
				p := [2]string{w.last.write.Name, name}
				if fate == then || decided[p] {
					continue
				}
				decided[p] = true
				if doubles[p] {
					t.Errorf("the condition %q of %s is needed after all:\n%v", name, w.last.write.Name, played)
				}
			}
		}
		delete(w.broken, Order) // here clients claim without a look at the rows
		if len(w.broken) > 0 {
			t.Errorf("with all conditions these are broken: %v\n%v", w.broken, played)
			continue
		}
		for _, c := range Cases() {
			if c.kept == needed {
				continue
			}
			w := newWorld()
			w.of, w.leave = c.Write, c.Condition
			for _, s := range played {
				w.do(s)
				w.senseless = ""
			}
			if delete(w.broken, Order); len(w.broken) > 0 {
				t.Errorf("%s/%s is needed: %v\n%v", c.Write, c.Condition, w.broken, played)
			}
		}
	}
	if len(decided) < 10 {
		t.Errorf("only %d conditions decided the fate of a write: %v", len(decided), decided)
	}
	t.Logf("%d conditions decided the fate of a write alone", len(decided))
}

// draw draws what a client may do. Each client acquires once.
func draw(rnd *rand.Rand, w *world) step {
	all := []who{A, B, N, R1, R2, F}
	a, b := all[rnd.IntN(len(all))], all[rnd.IntN(len(all))]
	c := w.client(a)
	nothing := a.does("nothing", func(w *world, _ *client) { w.senseless = "nothing" })
	when := func(ok bool, s step) step {
		if !ok {
			return nothing
		}
		switch rnd.IntN(6) {
		case 0:
			return s.lost()
		case 1:
			return s.delayed()
		case 2:
			if s.what == "transacts with FENCE" {
				return s.cancelled()
			}
		}
		return s
	}
	exclusive := most(c.mode) == 1 && !c.shares
	_, open := w.invisible[transaction{c.turn(), c.tx}]
	settled := c.id != "" && !open && (a != F || c.endless) // or its release would add a time
	holder, waiter := c.id != "" && (a != F || c.endless), c.id == "" && !c.ticket.IsZero()
	switch rnd.IntN(24) {
	case 0, 1, 2:
		return when(c.ids == 0, a.takes())
	case 3:
		return when(waiter && !c.waits, a.enqueues())
	case 4, 5:
		return when(waiter, a.claims())
	case 6:
		return when(holder, a.beats())
	case 7:
		return when(c.id != "" && a == F, a.confirms())
	case 8:
		return when(holder, a.sets())
	case 9:
		return when(settled && exclusive && !a.failClosed(), a.downgrades())
	case 10:
		return when(holder, a.transacts())
	case 11:
		return when(holder && c.tx > 0, a.settles())
	case 12:
		return when(settled, a.releases())
	case 13, 14:
		return when(settled, a.handsOff())
	case 15:
		to := w.client(b)
		next, _ := c.ticket.Next()
		return when(settled && exclusive && to.id == "" && to.ticket == next && most(to.mode) == 1 && b != F, a.passesTo(b))
	case 16:
		return when(holder, a.resets())
	case 17:
		return wait(time.Duration(rnd.IntN(40)) * time.Second)
	case 18:
		return a.looks()
	case 19:
		return O.looks()
	case 20:
		rec, err := decode(w.names, w.client(O).saw)
		h, ok := rec.Mine(w.client(a).tried...)
		switch {
		case err != nil || !ok:
			return nothing
		case h.Lease.Endless():
			return when(true, O.evictsFailClosed(a))
		case rnd.IntN(3) == 0 && most(w.client(a).mode) == 1 && !a.failClosed() && h.Ticket == c.ticket:
			return when(!h.Shared, C.together("resumes "+string(a)+", which has crashed", C.looks(), a.crashes(), C.resumes(a)))
		}
		return when(true, O.evict(a))
	case 21:
		return a.arrives()
	}
	names := slices.DeleteFunc(slices.Clone(writeNames), func(name string) bool { return c.sent[name].item == "" })
	if len(names) == 0 {
		return nothing
	}
	return a.again(names[rnd.IntN(len(names))])
}

var writeNames = func() (names []string) {
	seen := map[string]bool{}
	for _, w := range Shapes() {
		if !seen[w.Name] {
			names = append(names, w.Name)
		}
		seen[w.Name] = true
	}
	return names
}()
