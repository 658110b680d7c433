package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// near is the greatest number of letters by which a misspelt name differs from the one
// that is suggested.
const near = 2

// noCommand is the error of a command that parent does not have.
func noCommand(parent *cobra.Command, name string) error {
	parent.SuggestionsMinimumDistance = near
	name = clip(name, 40)
	if similar := parent.SuggestionsFor(name); len(similar) > 0 {
		return usagef("there is no command %q: did you mean '%s %s'?", name, parent.CommandPath(), similar[0])
	}
	return usagef("there is no command %q: see '%s --help'", name, parent.CommandPath())
}

// noFlag is the error of a flag that the command does not have.
func noFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("there is no flag -%s", clip(name, 40))
	}
	best, distance := "", 2*near+1
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		d := 2 * changes(name, f.Name)
		if name != "" && f.Name[0] == name[0] {
			d-- // of names that differ as much: a first letter is seldom wrong
		}
		if !f.Hidden && d < distance {
			best, distance = f.Name, d
		}
	})
	if best != "" {
		return fmt.Errorf("there is no flag --%s: did you mean --%s?", clip(name, 40), best)
	}
	return fmt.Errorf("there is no flag --%s", clip(name, 40))
}

// changes is the number of letters to add, remove or replace between two names, which
// is their Levenshtein distance.
func changes(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
