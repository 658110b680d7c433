package fault

import "testing"

func TestMixAt(t *testing.T) {
	t.Run("IsAFunctionOfSeedAndNumber", func(t *testing.T) {
		m := Mix{{Refuse, 0.1}, {LoseResponse, 0.2}, {Duplicate, 0.05}}
		differs := false
		for n := range uint64(1000) {
			if first := m.At(1, n); first != m.At(1, n) {
				t.Fatalf("request %d has two fates", n)
			}
			differs = differs || m.At(1, n) != m.At(2, n)
		}
		if !differs {
			t.Error("the seed changes nothing")
		}
	})
	t.Run("AsOftenAsTheShares", func(t *testing.T) {
		m := Mix{{Refuse, 0.1}, {LoseResponse, 0.2}, {SwallowRequest, 0.01}}
		const n = 100_000
		counts := map[Kind]int{}
		for i := range uint64(n) {
			counts[m.At(42, i)]++
		}
		want := map[Kind]int{None: 0.69 * n, Refuse: 0.1 * n, LoseResponse: 0.2 * n, SwallowRequest: 0.01 * n}
		for _, k := range Kinds() {
			if got := counts[k]; got < want[k]*9/10 || got > want[k]*11/10 {
				t.Errorf("%v: %d of %d, want about %d", k, got, n, want[k])
			}
		}
		if (Mix)(nil).At(42, 1) != None {
			t.Error("no mix, but a fault")
		}
	})
}

// TestAdd: each kind does one thing to a fate, and names the leg that it is met on.
func TestAdd(t *testing.T) {
	const d = 5
	for kind, want := range map[Kind]struct {
		fate Fate
		copy Leg // if it has one
		on   func(*Fate) *Leg
	}{
		None:            {Fate{}, Leg{}, there},
		LoseRequest:     {Fate{There: Leg{Lost: true}}, Leg{}, there},
		LoseResponse:    {Fate{Back: Leg{Lost: true}}, Leg{}, back},
		DelayRequest:    {Fate{There: Leg{Delay: d}}, Leg{}, there},
		DelayResponse:   {Fate{Back: Leg{Delay: d}}, Leg{}, back},
		SwallowRequest:  {Fate{There: Leg{Swallowed: true}}, Leg{}, there},
		SwallowResponse: {Fate{Back: Leg{Swallowed: true}}, Leg{}, back},
		Duplicate:       {Fate{}, Leg{Delay: d}, copied},
		Late:            {Fate{There: Leg{Lost: true}}, Leg{Delay: d}, there},
		Stray:           {Fate{There: Leg{Swallowed: true}}, Leg{Delay: d}, there},
		Refuse:          {Fate{}, Leg{}, there},
		Down:            {Fate{}, Leg{}, there},
	} {
		var f Fate
		met := f.Add(kind, d)
		if met != want.on(&f) || f.Name != kind.String() || !same(f.There, want.fate.There) || !same(f.Back, want.fate.Back) ||
			(f.Refusal != nil) != (kind == Refuse) || (f.Copy != nil) != (want.copy.Delay != 0) || f.Copy != nil && !same(*f.Copy, want.copy) {
			t.Errorf("%v: %+v", kind, f)
		}
	}
}

func there(f *Fate) *Leg  { return &f.There }
func back(f *Fate) *Leg   { return &f.Back }
func copied(f *Fate) *Leg { return f.Copy }

// same compares legs, which have a function and so are not comparable.
func same(a, b Leg) bool {
	return a.Delay == b.Delay && a.Lost == b.Lost && a.Swallowed == b.Swallowed && a.Gate == b.Gate
}
