package process

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLines checks that lines are printed in order, and that a reader that does not read
// delays Print not at all, and Close for a second.
func TestLines(t *testing.T) {
	var out strings.Builder
	l := NewLines(&out)
	l.Print("one")
	l.Print("two")
	l.Close()
	if out.String() != "one\ntwo\n" {
		t.Errorf("printed %q", out.String())
	}
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		begun := time.Now()
		l := NewLines(write)
		for range 2 * maxLines {
			l.Print("line")
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("Print took %v", took)
		}
		l.Close()
		if took := time.Since(begun); took != lineGrace {
			t.Errorf("Close took %v", took)
		}
		_ = read.Close() // lets the printer end
	})
}
