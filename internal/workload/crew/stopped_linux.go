package crew

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// StandsStill reports whether every thread of a process is stopped by a
// signal: only then is it certain that it does nothing.
func StandsStill(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			return false
		}
		// The name, in parentheses, may hold anything; the state follows.
		after := bytes.LastIndexByte(stat, ')') + 2
		if after >= len(stat) || stat[after] != 'T' {
			return false
		}
	}
	return true
}
