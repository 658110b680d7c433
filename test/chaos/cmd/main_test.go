package main

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWrongUsage(t *testing.T) {
	for args, want := range map[string]int{
		"--duration 0s":            exitUsage,
		"--duration -1s":           exitUsage,
		"--seed x":                 exitUsage,
		"--restarts -1":            exitUsage,
		"something":                exitUsage,
		"--plant x":                exitUsage,
		"--no-such-flag":           exitUsage,
		"":                         exitFailed, // dynoxide is looked for in the working directory
		"--engine /no/such/engine": exitFailed,
	} {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(args), &stdout, &stderr); code != want || stderr.Len() == 0 {
			t.Errorf("%q: exit code %d, want %d; stderr %q", args, code, want, stderr.String())
		}
	}
}
