// Package screen draws texts over each other on a terminal, each in place of the one
// before.
//
// A text that does not fit is cut at the right and at the bottom, so that no line wraps and
// nothing scrolls away. What is not printable is escaped.
package screen

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
)

// Screen is a terminal to draw on.
type Screen struct {
	out   io.Writer
	size  func() (width, height int, err error)
	drawn bool
}

// Of returns the screen that an output is, or nil. Consoles of Windows need not know the
// sequences, and are none.
func Of(out io.Writer) *Screen {
	file, ok := out.(*os.File)
	if !ok || runtime.GOOS == "windows" || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return &Screen{out: file, size: func() (int, int, error) { return term.GetSize(int(file.Fd())) }}
}

// Draw draws a text.
func (s *Screen) Draw(text string) error {
	width, height, err := s.size()
	if err != nil || width < 1 || height < 2 {
		width, height = 80, 24
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if room := height - 1; len(lines) > room {
		hidden := len(lines) - room + 1
		lines = append(lines[:room-1:room-1], fmt.Sprintf("… %d more lines", hidden))
	}
	var b strings.Builder
	if !s.drawn {
		b.WriteString("\x1b[2J") // what was there before stays in the terminal's history
		s.drawn = true
	}
	b.WriteString("\x1b[H")
	for _, line := range lines {
		b.WriteString(ansi.Truncate(display.Escape(line), width, "") + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	_, err = io.WriteString(s.out, b.String())
	return err
}
