// Package random draws the library's random numbers: the jitter of its pauses, and ids
// that are never used twice. They come from the operating system and the runtime, unless
// the context has a seeded source, with which a simulation can be run again.
package random

import (
	"context"
	crand "crypto/rand"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// Source is a seeded source for one client. It is safe for concurrent use.
type Source struct {
	mu  sync.Mutex
	rng *rand.Rand // guarded by mu
}

// New returns a Source that draws the same numbers for the same seeds.
func New(seed1, seed2 uint64) *Source { return &Source{rng: rand.New(rand.NewPCG(seed1, seed2))} }

type key struct{}

// With returns a context whose random numbers come from s.
func With(ctx context.Context, s *Source) context.Context { return context.WithValue(ctx, key{}, s) }

// Fork returns a context for another goroutine. If ctx has a seeded source, the new one
// has a source drawn from it now, so that neither goroutine changes what the other draws.
func Fork(ctx context.Context) context.Context {
	s, ok := ctx.Value(key{}).(*Source)
	if !ok {
		return ctx
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return With(ctx, New(s.rng.Uint64(), s.rng.Uint64()))
}

// Float64 returns a number in [0, 1).
func Float64(ctx context.Context) float64 {
	s, ok := ctx.Value(key{}).(*Source)
	if !ok {
		return rand.Float64()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.Float64()
}

// Around returns d, shortened or lengthened by up to a half.
func Around(ctx context.Context, d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.5 + Float64(ctx)))
}

const letters = "abcdefghijklmnopqrstuvwxyz234567"

// Text returns 26 lower-case letters and digits, of 130 bits that cannot be guessed.
func Text(ctx context.Context) string {
	s, ok := ctx.Value(key{}).(*Source)
	if !ok {
		return strings.ToLower(crand.Text())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := make([]byte, 26)
	for i := range text {
		text[i] = letters[s.rng.IntN(len(letters))]
	}
	return string(text)
}
