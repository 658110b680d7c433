package display

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable reports whether a text may be sent to a terminal as it is: another program may
// have written it.
func Printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Escape returns the text in one line, in which what is not printable is written as in Go:
// \x1b, \n, \u202e.
func Escape(text string) string {
	if Printable(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case unicode.IsPrint(r):
			b.WriteString(text[:size])
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		text = text[size:]
	}
	return b.String()
}

// Filter is an output that escapes what is not printable, but for the ends of lines. Each
// Write must have whole characters.
type Filter struct {
	out io.Writer

	mu  sync.Mutex
	err error // guarded by mu: the first
}

// NewFilter returns a Filter before an output.
func NewFilter(out io.Writer) *Filter { return &Filter{out: out} }

// Unwrap returns the output. What is written to it is not filtered.
func (f *Filter) Unwrap() io.Writer { return f.out }

// Err returns the first failure to write.
func (f *Filter) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *Filter) Write(p []byte) (int, error) {
	lines := strings.Split(string(p), "\n")
	for i, line := range lines {
		lines[i] = Escape(line)
	}
	if _, err := io.WriteString(f.out, strings.Join(lines, "\n")); err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.err = cmp.Or(f.err, err)
		return 0, err
	}
	return len(p), nil
}

// Marshal returns the JSON of a value, in which what is not printable is escaped. A Filter
// leaves it as it is.
func Marshal(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return escapeUnprintable(text, func(r rune) string {
		if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
			return fmt.Sprintf(`\u%04x\u%04x`, high, low)
		}
		return fmt.Sprintf(`\u%04x`, r)
	}), nil
}

// escapeUnprintable replaces what is not printable in a text with quotes, but for the ends
// of lines.
func escapeUnprintable(text []byte, escaped func(rune) string) []byte {
	var b bytes.Buffer
	for _, r := range string(text) {
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(escaped(r))
		}
	}
	return b.Bytes()
}
