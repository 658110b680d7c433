package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// choices are the values of a flag that knows a few.
type choices []string

// The choices of flags that several commands have, and of others.
var (
	outputs       = choices{"table", "wide", "json", "yaml"}
	scopeNames    = choices{"queue", "entity", "table"}
	progressNames = choices{"auto", "plain", "json", "none"}
	roleNames     = choices{"worker", "observer", "operator", "admin"}
)

// String lists the choices for people.
func (c choices) String() string {
	last := len(c) - 1
	return strings.Join(c[:last], ", ") + " or " + c[last]
}

// addFlag adds a flag whose value is one of the choices, the first by default. The help and
// completion know them.
func (c choices) addFlag(cmd *cobra.Command, value *string, name, short, usage string) {
	cmd.Flags().StringVarP(value, name, short, c[0], usage+": "+c.String())
	offer(cmd, name, cobra.FixedCompletions(c, cobra.ShellCompDirectiveNoFileComp))
}
