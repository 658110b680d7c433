package random_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/random"
)

func TestSeeds(t *testing.T) {
	a := random.Seed(t.Context(), 1, 2)
	b := random.Seed(t.Context(), 1, 2)
	c := random.Seed(t.Context(), 1, 3)
	if random.Text(a) != random.Text(b) || random.Float64(a) != random.Float64(b) {
		t.Error("two sources of the same seeds differ")
	}
	if random.Text(a) == random.Text(c) {
		t.Error("two sources of different seeds agree")
	}
}

func TestTextsAreUnique(t *testing.T) {
	shape := regexp.MustCompile(`^[a-z2-7]{26}$`)
	seen := map[string]bool{}
	seeded := random.Seed(t.Context(), 1, 2)
	for range 1000 {
		for _, text := range []string{random.Text(t.Context()), random.Text(seeded)} {
			if !shape.MatchString(text) || seen[text] {
				t.Fatalf("%q came again, or is no text", text)
			}
			seen[text] = true
		}
	}
}

// TestAround checks that Around returns a duration within half of its argument.
func TestAround(t *testing.T) {
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		d := random.Around(t.Context(), time.Second)
		least, most = min(least, d), max(most, d)
	}
	if least < time.Second/2 || least > 6*time.Second/10 || most > 3*time.Second/2 || most < 14*time.Second/10 {
		t.Errorf("a second became %v to %v", least, most)
	}
}
