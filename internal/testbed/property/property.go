// Package property checks that a property holds for random inputs. It repeats a failure with simpler inputs for as long
// as it still fails, and prints it with what was drawn and the seed.
//
// A run draws from a list of numbers. An input is simpler if it comes from a shorter list, or from smaller numbers, and
// so the generators need not know how to simplify.
package property

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	checks = flag.Int("property.checks", 100, "how many random inputs each property is checked with")
	seed   = flag.Uint64("property.seed", 0, "the seed of a failure, which is repeated; 0: a new one")
)

// Fewer lowers the number of random inputs, for tests that are slow.
func Fewer(n int) { *checks = min(*checks, n) }

// patience is for making a failure simpler.
const patience = 5 * time.Second

// Check fails the test if f fails for one of a hundred random inputs, which f draws.
func Check(t *testing.T, f func(*T)) {
	t.Helper()
	first, n := *seed, 1
	if first == 0 {
		first, n = rand.Uint64N(1<<53)+1, *checks // short enough to type
	}
	for i := range uint64(n) {
		at := first + i
		run := try(t, f, nil, rand.New(rand.NewPCG(at, 0)))
		if run.failure == "" {
			continue
		}
		run = simplest(t, f, run, time.Now().Add(patience))
		t.Fatalf("%s\nwith\n%s(the input before it was made simpler: -property.seed %d)", run.failure, run.drawn(), at)
	}
}

// T is a run of a property with one input.
type T struct {
	numbers []uint64 // to be drawn, and then those that were
	used    int
	random  *rand.Rand // what is drawn beyond them; nil: zeros
	draws   []string
	failure string
}

type failed struct{ text string }

// Helper does nothing: a failure prints what was drawn, and no line.
func (t *T) Helper() {}

// Fatal ends the run as a failure.
func (t *T) Fatal(args ...any) { panic(failed{strings.TrimSuffix(fmt.Sprintln(args...), "\n")}) }

// Fatalf ends the run as a failure.
func (t *T) Fatalf(format string, args ...any) { panic(failed{fmt.Sprintf(format, args...)}) }

// Errorf lets the run go on, and end as a failure.
func (t *T) Errorf(format string, args ...any) {
	if t.failure == "" {
		t.failure = fmt.Sprintf(format, args...)
	}
}

func (t *T) drawn() string {
	var out strings.Builder
	for _, draw := range t.draws {
		fmt.Fprintln(&out, " ", draw)
	}
	return out.String()
}

// upTo draws a number from 0 to most.
func (t *T) upTo(most uint64) uint64 {
	return t.number(most, func(r *rand.Rand, _ uint64) uint64 { return r.Uint64() })
}

// number takes a number from 0 to most, of which a new one is what random draws. It keeps what it made of it, so that a
// smaller number is a simpler input.
func (t *T) number(most uint64, random func(r *rand.Rand, most uint64) uint64) uint64 {
	if t.used == len(t.numbers) {
		var n uint64
		if t.random != nil {
			n = random(t.random, most)
		}
		t.numbers = append(t.numbers, n)
	}
	n := &t.numbers[t.used]
	t.used++
	if most < math.MaxUint64 {
		*n %= most + 1
	}
	return *n
}

// try runs f once. If f ends the outer test, which cannot be repeated, what was drawn goes to its log.
func try(t *testing.T, f func(*T), numbers []uint64, random *rand.Rand) (run *T) {
	run = &T{numbers: slices.Clone(numbers), random: random}
	ended := false
	defer func() {
		run.numbers = run.numbers[:run.used]
		switch problem := recover().(type) {
		case failed:
			run.Errorf("%s", problem.text)
		case nil:
			if !ended {
				t.Logf("drawn:\n%s", run.drawn())
			}
		default:
			run.Errorf("panic: %v\n%s", problem, debug.Stack())
		}
	}()
	f(run)
	ended = true
	return run
}

// simplest returns a failed run of which no part can be left out or be made smaller.
func simplest(t *testing.T, f func(*T), run *T, deadline time.Time) *T {
	accept := func(numbers []uint64) bool {
		if !time.Now().Before(deadline) {
			return false
		}
		again := try(t, f, numbers, nil)
		if again.failure == "" || !simpler(again.numbers, run.numbers) {
			return false
		}
		run = again
		return true
	}
	for progress := true; progress; {
		progress = false
		for size := 8; size > 0; size /= 2 {
			for i := 0; i+size <= len(run.numbers); {
				if accept(slices.Delete(slices.Clone(run.numbers), i, i+size)) {
					progress = true
				} else {
					i++
				}
			}
		}
		for i := 0; i < len(run.numbers); i++ {
			// The least number with which it fails, if it fails with all greater ones.
			for low := uint64(0); i < len(run.numbers) && low < run.numbers[i]; {
				numbers := slices.Clone(run.numbers)
				numbers[i] = low + (numbers[i]-low)/2
				if accept(numbers) {
					progress = true
				} else {
					low = numbers[i] + 1
				}
			}
		}
	}
	return run
}

func simpler(a, b []uint64) bool {
	return len(a) < len(b) || len(a) == len(b) && slices.Compare(a, b) < 0
}
