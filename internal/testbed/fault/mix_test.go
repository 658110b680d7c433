package fault

import "testing"

// TestMix checks that kinds occur as often as their shares say.
func TestMix(t *testing.T) {
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
}
