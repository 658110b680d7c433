package quote_test

import (
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/quote"
)

func TestText(t *testing.T) {
	for s, want := range map[string]string{
		"":                             "",
		"host-7:42":                    "host-7:42",
		"Zürich, 東京 ✓":                 "Zürich, 東京 ✓",
		`a "quoted" name`:              `a "quoted" name`,
		"a\nb":                         `"a\nb"`,
		"\x1b[2J":                      `"\x1b[2J"`,
		"del\x7f":                      `"del\x7f"`,
		"c1\u009b31m":                  `"c1\u009b31m"`,
		"\xff":                         `"\xff"`,
		"\u202egnp.exe":                `"\u202egnp.exe"`,
		"\u2028":                       `"\u2028"`,
		strings.Repeat("x", 300):       strings.Repeat("x", 256) + "…",
		strings.Repeat("x", 255) + "é": strings.Repeat("x", 255) + "\uFFFD…",
	} {
		if got := quote.Text(s); got != want {
			t.Errorf("%q is shown as %s, want %s", s, got, want)
		}
	}
}

func TestBad(t *testing.T) {
	for s, want := range map[string]string{"a\x1bb\n": `"\x1b"`, "\xc3(": `"\xc3"`, "\uFFFD": ""} {
		if got, printable := quote.Bad(s); got != want || printable != (want == "") {
			t.Errorf("%q: %s, %v", s, got, printable)
		}
	}
}
