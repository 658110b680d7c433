package engine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ProcessorSeconds returns what the engine's process has used so far. ok is false where Linux does not tell.
func (e *Engine) ProcessorSeconds() (seconds float64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", e.child.Pid()))
	if err != nil {
		return 0, false
	}
	// Fields 14 and 15, in hundredths of a second: proc_pid_stat(5). The second, in parentheses, may contain spaces.
	_, third, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(third)
	if len(fields) < 13 {
		return 0, false
	}
	user, err1 := strconv.ParseFloat(fields[11], 64)
	system, err2 := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100, errors.Join(err1, err2) == nil
}
