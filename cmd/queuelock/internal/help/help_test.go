package help

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// command is a command with so many flags and paragraphs.
func command(flags, paragraphs int) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "work THING",
		Short: "Work",
		Long: strings.Repeat("It works on one thing after the other, and says what it has done when all is done.\n\n", paragraphs) +
			"Exit codes:\n  0    done\n  64   wrong usage\n  69   DynamoDB cannot be used: no answer, no such table, no rights, no AWS settings",
		Example: "  work one\n\n  work two   # " + strings.Repeat("as before ", 10) + "\n  work three",
		Run:     func(*cobra.Command, []string) {},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().String("table", "locks", "the table")
	for i := range flags {
		cmd.Flags().StringP(fmt.Sprintf("flag-%d", i), "", "x", "how to do this, in many words which do not all fit into a line")
	}
	return cmd
}

func TestText(t *testing.T) {
	cmd := command(1, 2)
	cmd.Flags().DurationP("wait", "w", 3600e9, "a `TIME`")
	want := `It works on one thing after the other, and says what it has done when all is
done.

It works on one thing after the other, and says what it has done when all is
done.

Usage: work THING [flags]

Flags:
      --flag-0 TEXT  how to do this, in many words which do not all fit into a
                     line (default x)
  -w, --wait TIME    a TIME (default 1h)
Settings: --table: see 'queuelock help settings'

Examples:
  work one
  work two
  work three

Exit codes:
  0    done
  64   wrong usage; 69 DynamoDB cannot be used
`
	if got := Text(cmd); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestFits checks that a text fits, however much there is to say, and names each flag.
func TestFits(t *testing.T) {
	for flags := range 60 {
		text := Text(command(flags, flags%5+1))
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) > Lines {
			t.Errorf("%d flags: %d lines", flags, len(lines))
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > Columns {
				t.Errorf("%d flags: a line of %d columns: %s", flags, utf8.RuneCountInString(line), line)
			}
		}
		for i := range flags {
			if !slices.Contains(strings.Fields(text), fmt.Sprintf("--flag-%d", i)) {
				t.Errorf("%d flags: --flag-%d is missing", flags, i)
			}
		}
		for _, part := range []string{"Usage: ", "Examples:\n  work one\n", "Exit codes:\n  0    done\n"} {
			if !strings.Contains(text, part) {
				t.Errorf("%d flags: %q is missing", flags, part)
			}
		}
	}
}

// TestSettings checks that the settings are described with their defaults.
func TestSettings(t *testing.T) {
	if text := Settings(command(1, 1)); !strings.HasSuffix(text, "Flags of most commands:\n  --table TEXT  the table (default locks)\n") {
		t.Errorf("%s", text)
	}
}
