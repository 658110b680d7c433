package main

// shell returns the command that runs a text of run -c.
func shell(text string) []string { return []string{"cmd", "/C", text} }
