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

type source struct {
	mu  sync.Mutex
	rng *rand.Rand // guarded by mu
}

type key struct{}

// Seed returns a context whose random numbers are the same for the same seeds.
func Seed(ctx context.Context, seed1, seed2 uint64) context.Context {
	return context.WithValue(ctx, key{}, &source{rng: rand.New(rand.NewPCG(seed1, seed2))})
}

// seeded calls draw if ctx has a seeded source.
func seeded(ctx context.Context, draw func(rng *rand.Rand)) {
	if s, ok := ctx.Value(key{}).(*source); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		draw(s.rng)
	}
}

// Fork returns a context for another goroutine. If ctx has a seeded source, the new one
// has a source drawn from it now, so that neither goroutine changes what the other draws.
func Fork(ctx context.Context) context.Context {
	fork := ctx
	seeded(ctx, func(rng *rand.Rand) { fork = Seed(ctx, rng.Uint64(), rng.Uint64()) })
	return fork
}

// Float64 returns a number in [0, 1).
func Float64(ctx context.Context) float64 {
	n := rand.Float64()
	seeded(ctx, func(rng *rand.Rand) { n = rng.Float64() })
	return n
}

// Around returns d, shortened or lengthened by up to a half.
func Around(ctx context.Context, d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.5 + Float64(ctx)))
}

// Text returns 26 lower-case letters and digits, of 130 bits that cannot be guessed.
func Text(ctx context.Context) string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	text := []byte(strings.ToLower(crand.Text()))
	seeded(ctx, func(rng *rand.Rand) {
		for i := range text {
			text[i] = letters[rng.IntN(len(letters))]
		}
	})
	return string(text)
}
