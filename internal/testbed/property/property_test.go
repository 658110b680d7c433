package property

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// first returns a failure of f as it was found and as simple as it can be.
func first(t *testing.T, f func(*T)) (found, simple *T) {
	t.Helper()
	for seed := range uint64(1000) {
		if run := try(t, f, nil, rand.New(rand.NewPCG(seed, 0))); run.failure != "" {
			return run, simplest(t, f, run, time.Now().Add(time.Minute))
		}
	}
	t.Fatal("no failure in 1000 runs")
	return nil, nil
}

// TestSimplest checks that a failure ends with the simplest input that fails, and that its text has it.
func TestSimplest(t *testing.T) {
	_, run := first(t, func(t *T) {
		sum := 0
		for _, n := range SliceOfN(IntRange(0, 1000), 0, 20).Draw(t, "numbers") {
			sum += n
		}
		if sum >= 700 {
			t.Fatalf("the sum is %d", sum)
		}
	})
	if run.failure != "the sum is 700" || !strings.Contains(run.drawn(), "numbers: []int{700}") {
		t.Errorf("%s with\n%s", run.failure, run.drawn())
	}
	_, run = first(t, func(t *T) {
		if s := String().Draw(t, "text"); strings.Contains(s, "ß") {
			panic(s)
		}
	})
	if !strings.HasPrefix(run.failure, "panic: ß\n") {
		t.Errorf("%s", run.failure)
	}
}

// TestSeed checks that a seed repeats a run.
func TestSeed(t *testing.T) {
	f := func(t *T) { t.Fatal(Int64().Draw(t, "number"), String().Draw(t, "text")) }
	a, b := try(t, f, nil, rand.New(rand.NewPCG(7, 0))), try(t, f, nil, rand.New(rand.NewPCG(7, 0)))
	if a.failure != b.failure || a.failure == "" || try(t, f, nil, rand.New(rand.NewPCG(8, 0))).failure == a.failure {
		t.Errorf("%s\n%s", a.failure, b.failure)
	}
	if again := try(t, f, a.numbers, nil); again.failure != a.failure {
		t.Errorf("from the numbers of %s: %s", a.failure, again.failure)
	}
}

// TestCheck checks that Check draws a hundred inputs.
func TestCheck(t *testing.T) {
	runs, inputs := 0, map[int64]bool{}
	Check(t, func(t *T) { runs++; inputs[Int64().Draw(t, "number")] = true })
	if want := *checks; *seed == 0 && (runs != want || len(inputs) < want/2) {
		t.Errorf("%d runs with %d inputs, want %d", runs, len(inputs), want)
	}
}

// TestRanges checks that numbers are within their bounds, which are drawn as well as what is near and far between them.
func TestRanges(t *testing.T) {
	for _, r := range [][2]int64{{0, 0}, {0, 1}, {-1, 1}, {5, 1000}, {-1000, -5}, {-7, 1 << 40}, {math.MinInt64, math.MaxInt64}, {math.MinInt64, -1}, {1, math.MaxInt64}} {
		run := &T{random: rand.New(rand.NewPCG(1, uint64(r[0])))}
		seen := map[int64]int{}
		for range 1000 {
			n := Int64Range(r[0], r[1]).Draw(run, "number")
			if n < r[0] || n > r[1] {
				t.Fatalf("%d is not from %d to %d", n, r[0], r[1])
			}
			seen[n]++
		}
		distinct := min(400, float64(r[1])-float64(r[0])+1)
		if seen[r[0]] == 0 || seen[r[1]] == 0 || r[0] <= 0 && r[1] >= 0 && seen[0] == 0 || float64(len(seen)) < distinct/2 {
			t.Errorf("from %d to %d: %d distinct numbers, %d and %d of the bounds, %d of 0", r[0], r[1], len(seen), seen[r[0]], seen[r[1]], seen[0])
		}
	}
	run := &T{random: rand.New(rand.NewPCG(1, 1))}
	for range 1000 {
		if x := Float64Range(-0.3, 0.1).Draw(run, "x"); x < -0.3 || x > 0.1 {
			t.Fatal(x)
		}
	}
}

// TestTexts checks that texts match what they are drawn for, and differ.
func TestTexts(t *testing.T) {
	run := &T{random: rand.New(rand.NewPCG(1, 1))}
	for _, e := range []string{`-?[0-9]{1,12}(\.[0-9]{1,8})?(e[0-9])?`, `[^/]{0,20}`, `[1-9][0-9]{0,37}`, `[a-z0-9.-]{12}`} {
		whole := regexp.MustCompile("^(?s:" + e + ")$")
		seen := map[string]bool{}
		for range 500 {
			s := StringMatching(e).Draw(run, "text")
			if !whole.MatchString(s) {
				t.Fatalf("%q does not match %s", s, e)
			}
			seen[s] = true
		}
		if len(seen) < 200 {
			t.Errorf("%d distinct texts of %s", len(seen), e)
		}
	}
	for range 500 {
		if s := StringN(1, 20).Draw(run, "text"); !utf8.ValidString(s) || utf8.RuneCountInString(s) < 1 || utf8.RuneCountInString(s) > 20 {
			t.Fatalf("%q", s)
		}
	}
}

// TestPermutation checks that each order of three values is drawn.
func TestPermutation(t *testing.T) {
	run := &T{random: rand.New(rand.NewPCG(1, 1))}
	seen := map[string]bool{}
	for range 200 {
		order := Permutation([]string{"a", "b", "c"}).Draw(run, "order")
		if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, []string{"a", "b", "c"}) {
			t.Fatal(order)
		}
		seen[strings.Join(order, "")] = true
	}
	if len(seen) != 6 {
		t.Errorf("%v", seen)
	}
}

// TestErrorf checks that a run with an error goes on, and fails with the first.
func TestErrorf(t *testing.T) {
	ended := false
	run := try(t, func(t *T) {
		t.Errorf("first")
		ended = true
		t.Fatal("second", 2)
	}, nil, nil)
	if run.failure != "first" || !ended {
		t.Errorf("%q, ended: %v", run.failure, ended)
	}
}
