package main

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// terminalScreen is what a terminal of 80 by 24 shows: enough of one for the programs here.
type terminalScreen struct {
	mu       sync.Mutex
	cells    [24][80]rune // guarded by mu, as is the rest
	row, col int
	last     rune   // for a repetition
	rest     []byte // of a sequence that is not complete
}

var (
	sequence = regexp.MustCompile(`^\x1b(?:\[([0-9;:?<>=!$ ]*)([@-~])|[\]P_^][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[^\[\]P_^()])`)
	partial  = regexp.MustCompile(`^\x1b(?:\[[0-9;:?<>=!$ ]*|[\]P_^][^\x07\x1b]*\x1b?|[()])?$`)
)

// Write takes what the program prints.
func (s *terminalScreen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.rest, p...)
	for len(text) > 0 {
		if text[0] == '\x1b' {
			if partial.Match(text) {
				break
			}
			if found := sequence.FindSubmatch(text); found != nil {
				s.control(string(found[1]), string(found[2]))
				text = text[len(found[0]):]
				continue
			}
		}
		r := []rune(string(text[:min(len(text), 4)]))[0]
		size := len(string(r))
		if r == '\uFFFD' {
			if len(text) < 4 {
				break // a rune that is not complete
			}
			size = 1
		}
		s.print(r)
		text = text[size:]
	}
	s.rest = append([]byte(nil), text...)
	return len(p), nil
}

func (s *terminalScreen) print(r rune) {
	switch r {
	case '\r':
		s.col = 0
	case '\n':
		if s.row++; s.row == len(s.cells) {
			copy(s.cells[:], s.cells[1:])
			s.row--
			s.erase(s.row, 0, 80)
		}
	case '\b':
		s.col = max(0, s.col-1)
	case '\t':
		s.col = min(79, s.col/8*8+8)
	default:
		if r >= ' ' {
			s.cells[s.row][min(s.col, 79)] = r
			s.col, s.last = min(80, s.col+1), r
		}
	}
}

func (s *terminalScreen) erase(row, from, to int) {
	for c := max(0, from); c < min(to, 80); c++ {
		s.cells[row][c] = ' '
	}
}

// control moves and erases. Colours and modes are ignored.
func (s *terminalScreen) control(parameters, final string) {
	if strings.ContainsAny(parameters, "?<>=!$") {
		return
	}
	var n [2]int
	for i, p := range strings.SplitN(parameters, ";", 2) {
		n[i], _ = strconv.Atoi(p)
	}
	count := max(1, n[0])
	s.col = min(s.col, 79)
	switch final {
	case "H", "f":
		s.row, s.col = count-1, max(1, n[1])-1
	case "A":
		s.row -= count
	case "B":
		s.row += count
	case "C":
		s.col += count
	case "D":
		s.col -= count
	case "G", "`":
		s.col = count - 1
	case "d":
		s.row = count - 1
	case "X":
		s.erase(s.row, s.col, s.col+count)
	case "P":
		copy(s.cells[s.row][s.col:], s.cells[s.row][min(80, s.col+count):])
		s.erase(s.row, 80-count, 80)
	case "K":
		from, to := s.col, 80
		if n[0] > 0 {
			from = 0
		}
		if n[0] == 1 {
			to = s.col + 1
		}
		s.erase(s.row, from, to)
	case "J":
		if n[0] == 0 {
			s.erase(s.row, s.col, 80)
		}
		for row := range s.cells {
			if n[0] == 2 || row > s.row {
				s.erase(row, 0, 80)
			}
		}
	case "b":
		for range count {
			s.print(s.last)
		}
	}
	s.row, s.col = min(max(s.row, 0), 23), min(max(s.col, 0), 79)
}

// String returns the lines, without the empty ones at the end.
func (s *terminalScreen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, row := range s.cells {
		line := strings.ReplaceAll(string(row[:]), "\x00", " ")
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
