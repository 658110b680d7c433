package screen

import (
	"strings"
	"testing"
)

func TestDraw(t *testing.T) {
	var out strings.Builder
	s := &Screen{out: &out, size: func() (int, int, error) { return 5, 4, nil }}
	draw := func(text, want string) {
		t.Helper()
		out.Reset()
		if err := s.Draw(text); err != nil || out.String() != want {
			t.Errorf("%q is drawn as %q, %v; want %q", text, out.String(), err, want)
		}
	}
	draw("a\nb\n", "\x1b[2J\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J")
	draw("äbcdefgh\n", "\x1b[Häbcde\x1b[K\n\x1b[J")
	draw("1\n2\n3\n4\n5\n", "\x1b[H1\x1b[K\n2\x1b[K\n… 3 m\x1b[K\n\x1b[J")
}

func TestOf(t *testing.T) {
	if Of(new(strings.Builder)) != nil {
		t.Error("a buffer is a screen")
	}
}
