package properties_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// mistakes are tests that must fail, each in a process of its own, and what the failure must say.
var mistakes = map[string]struct {
	say string
	run func(*testing.T)
}{
	"Property": {"draw n: 100\n", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			if n := rapid.IntRange(0, 1_000_000).Draw(r, "n"); n >= 100 {
				r.Fatal("too large")
			}
		})
	}},
	"PropertyOfBubble": {"draw n: 100\n", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			n, tooLarge := rapid.IntRange(0, 1_000_000).Draw(r, "n"), false
			synctest.Test(t, func(*testing.T) { tooLarge = n >= 100 }) // a failure within would end the process at the first n
			if tooLarge {
				r.Fatal("too large")
			}
		})
	}},
	"Goroutine": {"found unexpected goroutines", func(*testing.T) { go func() { select {} }() }},
	"GoroutineOfBubble": {"blocked goroutines remain", func(t *testing.T) {
		synctest.Test(t, func(*testing.T) { go func() { select {} }() }) // goleak would not see it: the bubble does
	}},
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMistakesAreFound checks that a false property is found, with its smallest counterexample, also if a bubble decides it, and that a
// goroutine which stays is found, in a bubble and outside.
func TestMistakesAreFound(t *testing.T) {
	const variable = "QUEUELOCK_TEST_MISTAKE"
	if name := os.Getenv(variable); name != "" {
		mistakes[name].run(t)
		return
	}
	for name, mistake := range mistakes {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMistakesAreFound$", "-rapid.nofailfile")
		cmd.Env = append(os.Environ(), variable+"="+name)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), mistake.say) {
			t.Errorf("%s: %v, want a failure that says %q:\n%s", name, err, mistake.say, out)
		}
	}
}
