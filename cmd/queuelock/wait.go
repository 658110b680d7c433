package main

import (
	"regexp"
	"time"

	"github.com/queuelock/queuelock/waitpolicy"
)

// plainSeconds is a number without a unit, as flock takes it.
var plainSeconds = regexp.MustCompile(`^\d+(\.\d*)?$`)

// parseWait reads what --wait gives: what the library reads, or a number of seconds.
func parseWait(text string) (waitpolicy.Wait, error) {
	if plainSeconds.MatchString(text) {
		d, err := time.ParseDuration(text + "s")
		if err == nil {
			return waitpolicy.For(d), nil
		}
	}
	wait, err := waitpolicy.Parse(text)
	if err != nil {
		return wait, usagef("--wait %s: need seconds, a duration such as 5m, 0, forever, or attempts such as 5x2s", text)
	}
	return wait, nil
}
