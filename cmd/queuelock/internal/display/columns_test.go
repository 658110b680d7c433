package display

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// TestDraw checks which columns give way and what is cut, also of characters that take two columns of a terminal.
func TestDraw(t *testing.T) {
	columns := []Column{{Heading: "NAME", Floor: 6}, {Heading: "N", Right: true}, {Heading: "EMPTY"}, {Heading: "MODE", Drop: 2}, {Heading: "DATA", Floor: 5, Drop: 1}}
	rows := [][]string{{"日本語日本語\t +2", "12", "", "shared", "release 1"}, {"abc", "3", "", "lock", ""}}
	for width, want := range map[int]string{
		0:  "NAME              N  MODE    DATA\n日本語日本語 +2  12  shared  release 1\nabc               3  lock",
		33: "NAME         N  MODE    DATA\n日本語… +2  12  shared  release 1\nabc          3  lock",
		20: "NAME       N  MODE\n日本… +2  12  shared\nabc        3  lock",
		12: "NAME       N\n日本… +2  12\nabc        3",
	} {
		lines := Draw(2, width, columns, rows)
		if diff := cmp.Diff(want, strings.Join(lines, "\n")); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", width, diff)
		}
		for _, line := range lines {
			if width > 0 && ansi.StringWidth(line) > width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
	}
	if got := Draw(1, 0, columns[:2], nil); len(got) != 1 || got[0] != "NAME N" {
		t.Errorf("without rows: %q", got)
	}
	if got := Fit("日本語", 4); got != "日… " {
		t.Errorf("%q", got)
	}
}
