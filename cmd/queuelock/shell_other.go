//go:build !windows

package main

// shell returns the command that runs a text of run -c.
func shell(text string) []string { return []string{"/bin/sh", "-c", text} }
