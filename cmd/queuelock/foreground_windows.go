package main

import "os"

// inForeground reports whether this process may draw on a terminal.
func inForeground(*os.File) bool { return true }
