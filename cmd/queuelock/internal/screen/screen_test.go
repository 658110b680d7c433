package screen

import (
	"strings"
	"testing"
)

func TestDraw(t *testing.T) {
	var out strings.Builder
	s := &Screen{Out: &out, Size: func() (int, int, error) { return 6, 4, nil }}
	draw := func(text, want string) {
		t.Helper()
		out.Reset()
		if err := s.Draw(text); err != nil || out.String() != want {
			t.Errorf("%q is drawn as %q, %v; want %q", text, out.String(), err, want)
		}
	}
	draw("", "")
	draw("a\nb\n", "a\nb\n")
	draw("日本語\x1b[2J\n", "\r\x1b[2A\x1b[J日本…\n")
	draw("1\n2\n3\n4\n5\n", "\r\x1b[1A\x1b[J1\n2\n… 3 …\n")
	s.Leave()
	draw("a", "a\n")
	draw("", "\r\x1b[1A\x1b[J")
	draw("", "")
}

func TestOf(t *testing.T) {
	if Of(new(strings.Builder)) != nil {
		t.Error("a buffer is a screen")
	}
}
