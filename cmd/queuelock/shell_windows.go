package main

import "os"

// userSignals have the meaning that the command gives them: Windows has none.
var userSignals []os.Signal

// shell returns the command that runs a text of run -c.
func shell(text string) []string { return []string{"cmd", "/C", text} }
