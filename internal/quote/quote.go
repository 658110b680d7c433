// Package quote makes text of other writers safe for errors and logs.
//
// Owners, ids and attributes of a table may hold terminal escapes, line ends and marks that reverse the direction of
// writing. An error with them could forge a log line, or what a terminal shows.
package quote

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// most is the number of bytes of a text that are shown. The library writes no longer ones.
const most = 256

// Text returns s for an error or a log: as it is if it is printable, and else quoted as in Go. A long one is cut.
func Text(s string) string {
	cut := ""
	if len(s) > most {
		s, cut = strings.ToValidUTF8(s[:most], "\uFFFD"), "…"
	}
	if _, printable := Bad(s); printable {
		return s + cut
	}
	return strconv.Quote(s) + cut
}

// Bad returns the first character of s that is not printable, such as a control character or a byte that is not UTF-8,
// quoted as in Go. printable reports that there is none.
func Bad(s string) (bad string, printable bool) {
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || !strconv.IsPrint(r) {
			return strconv.Quote(s[i : i+size]), false
		}
	}
	return "", true
}

// Until returns " until" and the time, and nothing of one that is not known.
func Until(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " until " + at.UTC().Format(time.RFC3339)
}
