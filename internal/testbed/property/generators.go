package property

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// Generator draws values.
type Generator[V any] struct{ draw func(*T) V }

// Draw draws a value, which a failure prints behind the label.
func (g Generator[V]) Draw(t *T, label string) V {
	v := g.draw(t)
	t.draws = append(t.draws, fmt.Sprintf("%s: %#v", label, v))
	return v
}

// Custom draws what f makes of other draws.
func Custom[V any](f func(*T) V) Generator[V] { return Generator[V]{f} }

// Just always draws the value.
func Just[V any](v V) Generator[V] { return Custom(func(*T) V { return v }) }

// Map draws what f makes of a draw.
func Map[U, V any](g Generator[U], f func(U) V) Generator[V] {
	return Custom(func(t *T) V { return f(g.draw(t)) })
}

// OneOf draws from one of the generators. The first is the simplest.
func OneOf[V any](all ...Generator[V]) Generator[V] {
	return Custom(func(t *T) V { return all[t.upTo(uint64(len(all)-1))].draw(t) })
}

// SampledFrom draws one of the values. The first is the simplest.
func SampledFrom[V any](all []V) Generator[V] {
	return Custom(func(t *T) V { return all[t.upTo(uint64(len(all)-1))] })
}

// Bool draws false or true.
func Bool() Generator[bool] { return SampledFrom([]bool{false, true}) }

// Int64Range draws a number within the bounds: a bound, one near 0, one of a random length, or any.
func Int64Range(low, high int64) Generator[int64] {
	if low > high {
		panic(fmt.Sprintf("property: no number is from %d to %d", low, high))
	}
	simplest := min(max(0, low), high)
	above, below := uint64(high)-uint64(simplest), uint64(simplest)-uint64(low)
	return Custom(func(t *T) int64 {
		if above == 0 || below > 0 && t.upTo(1) == 1 {
			return simplest - int64(t.number(below, uneven))
		}
		return simplest + int64(t.number(above, uneven))
	})
}

// uneven prefers the ends, and short numbers.
func uneven(r *rand.Rand, most uint64) uint64 {
	switch r.IntN(8) {
	case 0, 1:
		return r.Uint64() >> r.IntN(64)
	case 2:
		return 0
	case 3:
		return most - min(most, r.Uint64N(2))
	}
	return r.Uint64()
}

// Int64 draws any number.
func Int64() Generator[int64] { return Int64Range(math.MinInt64, math.MaxInt64) }

// IntRange is Int64Range for the type int.
func IntRange(low, high int) Generator[int] {
	return Map(Int64Range(int64(low), int64(high)), func(n int64) int { return int(n) })
}

// Float64Range draws a number within the bounds: a bound, 0, or any.
func Float64Range(low, high float64) Generator[float64] {
	const parts = 1 << 53
	anywhere := Custom(func(t *T) float64 {
		return min(max(low+(high-low)*(float64(t.upTo(parts))/parts), low), high)
	})
	return OneOf(Just(min(max(0, low), high)), Just(low), Just(high), anywhere, anywhere, anywhere, anywhere, anywhere)
}

// SliceOfN draws from low to high values.
func SliceOfN[V any](g Generator[V], low, high int) Generator[[]V] {
	return Custom(func(t *T) []V {
		all := []V{}
		for range length(t, low, high) {
			all = append(all, g.Draw(t, fmt.Sprintf("[%d]", len(all))))
		}
		return all
	})
}

// length draws short lists as often as long ones.
func length(t *T, low, high int) int {
	return low + int(t.number(uint64(high-low), func(r *rand.Rand, most uint64) uint64 {
		if r.IntN(2) == 0 {
			return r.Uint64N(min(most, 4) + 1)
		}
		return r.Uint64()
	}))
}

// Permutation draws the values in another order.
func Permutation[V any](values []V) Generator[[]V] {
	return Custom(func(t *T) []V {
		all := append([]V{}, values...)
		for i := range len(all) - 1 {
			j := i + int(t.upTo(uint64(len(all)-1-i)))
			all[i], all[j] = all[j], all[i]
		}
		return all
	})
}

// rare are characters that programs trip over.
var rare = []rune("\x00\t\n\"'/\\<&${%\x7fäß€\u0301\u200b\u2028\ufeff\ufffd😀\U0010ffff")

// character draws a letter, a character of ASCII, a rare one, or any of Unicode.
func character(t *T) rune {
	switch t.upTo(5) {
	case 0, 1:
		return 'a' + rune(t.upTo(25))
	case 2, 3:
		return ' ' + rune(t.upTo('~'-' '))
	case 4:
		return rare[t.upTo(uint64(len(rare)-1))]
	}
	if c := rune(t.upTo(0x10ffff)); c < 0xd800 || c > 0xdfff { // the half of a UTF-16 pair is no character
		return c
	}
	return '?'
}

// StringN draws a text of low to high characters.
func StringN(low, high int) Generator[string] {
	return Custom(func(t *T) string {
		var text strings.Builder
		for range length(t, low, high) {
			text.WriteRune(character(t))
		}
		return text.String()
	})
}

// String draws a text of up to 40 characters.
func String() Generator[string] { return StringN(0, 40) }

// StringMatching draws a text that matches a regular expression of characters, classes, groups and counted repetitions.
func StringMatching(expression string) Generator[string] {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		panic(err)
	}
	return Custom(func(t *T) string {
		var text strings.Builder
		match(t, &text, parsed)
		return text.String()
	})
}

func match(t *T, text *strings.Builder, e *syntax.Regexp) {
	switch e.Op {
	case syntax.OpEmptyMatch:
	case syntax.OpLiteral:
		text.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		text.WriteRune(member(t, e.Rune))
	case syntax.OpConcat, syntax.OpCapture:
		for _, part := range e.Sub {
			match(t, text, part)
		}
	case syntax.OpQuest, syntax.OpRepeat:
		low, high := e.Min, e.Max
		if e.Op == syntax.OpQuest {
			low, high = 0, 1
		}
		if high < 0 {
			panic("property: a repetition needs an end: " + e.String())
		}
		for range length(t, low, high) {
			match(t, text, e.Sub[0])
		}
	default:
		panic("property: not a part of an expression that can be drawn: " + e.String())
	}
}

// member draws a character of a class, which is a list of first and last ones. If a class has most of Unicode, it is one
// that a text would have.
func member(t *T, class []rune) rune {
	var size uint64
	for i := 0; i < len(class); i += 2 {
		size += uint64(class[i+1]-class[i]) + 1
	}
	if size > 0x1000 {
		c := character(t)
		for i := 0; i < len(class); i += 2 {
			if class[i] <= c && c <= class[i+1] {
				return c
			}
		}
	}
	n := rune(t.upTo(size - 1))
	for i := 0; ; i += 2 {
		if room := class[i+1] - class[i] + 1; n >= room {
			n -= room
			continue
		}
		return class[i] + n
	}
}
