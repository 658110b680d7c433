// Package screen draws texts on a terminal, each in place of the one before.
//
// A text that does not fit is cut at the right and at the bottom, so that no line wraps and
// nothing scrolls away. What is not printable is escaped.
package screen

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
)

// Screen is a terminal to draw on.
type Screen struct {
	Out   io.Writer
	Size  func() (width, height int, err error)
	drawn int // how many lines are in place of which the next are drawn
}

// Of returns the screen that an output is, or nil.
func Of(out io.Writer) *Screen {
	file, ok := out.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return &Screen{Out: file, Size: func() (int, int, error) { return term.GetSize(int(file.Fd())) }}
}

// Draw draws a text. An empty one erases what was drawn.
func (s *Screen) Draw(text string) error {
	width, height, err := s.Size()
	if err != nil || width < 1 || height < 2 {
		width, height = 80, 24
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if room := height - 1; len(lines) > room {
		hidden := len(lines) - room + 1
		lines = append(lines[:room-1:room-1], fmt.Sprintf("… %d more lines", hidden))
	}
	var b strings.Builder
	if s.drawn > 0 { // back to the first line, and clear all below: ECMA-48
		fmt.Fprintf(&b, "\r\x1b[%dA\x1b[J", s.drawn)
	}
	if s.drawn = 0; text != "" {
		s.drawn = len(lines)
		for _, line := range lines { // in the last column some terminals wrap
			b.WriteString(ansi.Truncate(display.Escape(line), width-1, "…") + "\n")
		}
	}
	_, err = io.WriteString(s.Out, b.String())
	return err
}

// Leave leaves what was drawn: the next text is drawn below.
func (s *Screen) Leave() { s.drawn = 0 }
