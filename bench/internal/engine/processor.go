package engine

import (
	"fmt"
	"os"
	"strings"
)

// ProcessorSeconds returns what the engine's process has used so far. ok is false where Linux does not tell.
func (e *Engine) ProcessorSeconds() (seconds float64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", e.child.Pid()))
	if err != nil {
		return 0, false
	}
	// Fields 14 and 15, in hundredths of a second: proc_pid_stat(5). The second, in parentheses, may contain spaces.
	_, rest, _ := strings.Cut(string(text), ") ")
	var state string
	var skipped [10]int64
	var user, system float64
	_, err = fmt.Sscan(rest, &state, &skipped[0], &skipped[1], &skipped[2], &skipped[3], &skipped[4], &skipped[5],
		&skipped[6], &skipped[7], &skipped[8], &skipped[9], &user, &system)
	return (user + system) / 100, err == nil
}
