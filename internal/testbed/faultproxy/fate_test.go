package faultproxy

import "testing"

func TestAFateIsAFunctionOfSeedNumberAndMix(t *testing.T) {
	m := Mix{Throttle: 100, ResetAfter: 200, Duplicate: 50}
	differs := false
	for n := range uint64(1000) {
		if m.Pick(1, n) != m.Pick(1, n) {
			t.Fatalf("request %d has two fates", n)
		}
		differs = differs || m.Pick(1, n) != m.Pick(2, n)
	}
	if !differs {
		t.Error("the seed changes nothing")
	}
}

func TestFatesComeAsOftenAsTheMixSays(t *testing.T) {
	m := Mix{Throttle: 100, ResetAfter: 200, HoleBefore: 10}
	const n = 100_000
	counts := map[Fate]int{}
	for i := range uint64(n) {
		counts[m.Pick(42, i)]++
	}
	for _, f := range Fates() {
		want := m[f] * n / 1000
		if f == Pass {
			want = n - 310*n/1000
		}
		if got := counts[f]; got < want*9/10 || got > want*11/10 {
			t.Errorf("%v: %d of %d, want about %d", f, got, n, want)
		}
	}
	if (Mix)(nil).Pick(42, 1) != Pass {
		t.Error("no mix, but a fault")
	}
}
