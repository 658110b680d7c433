package main

import (
	"fmt"
	"slices"
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
	// Of names that differ by more than a letter, the first letter is seldom wrong.
	unlikely := func(other string) bool {
		sub, _, _ := parent.Find([]string{other})
		synonym := slices.Contains(sub.SuggestFor, strings.ToLower(name))
		return !synonym && changes(name, other) > 1 && !strings.EqualFold(name[:1], other[:1])
	}
	if similar := slices.DeleteFunc(parent.SuggestionsFor(name), unlikely); name != "" && len(similar) > 0 {
		return usagef("there is no command %q: did you mean '%s %s'?", name, parent.CommandPath(), similar[0])
	}
	return usagef("there is no command %q: see '%s --help'", name, parent.CommandPath())
}

// flockFlags are flags of flock(1) that run and lock do not have, and what does the same.
var flockFlags = map[string]string{
	"timeout": "-w/--wait",
	"F":       "-o/--no-wait-children",
	"no-fork": "-o/--no-wait-children",
	"u":       "'queuelock unlock'",
	"unlock":  "'queuelock unlock'",
}

// misplaced is the error of the first flag before the command that the command does not
// have, or that must be after it. What cobra says of it names another flag.
func misplaced(root *cobra.Command, args []string) error {
	sub, before := commandAfterFlags(root, args)
	for i := 0; i < len(before); i++ {
		given := before[i]
		name, _, whole := strings.Cut(strings.TrimLeft(given, "-"), "=")
		flag := sub.Flag(name)
		switch {
		case !strings.HasPrefix(given, "-"):
			return nil // another mistake, which cobra finds
		case root.Flag(name) != nil, name == "help", name == "version", given == "-h":
			continue
		case !strings.HasPrefix(given, "--") && sub.Flags().ShorthandLookup(given[1:2]) != nil, flag != nil && !takesValue(sub, given) && !whole:
			return usagef("%s must be after the command: write 'queuelock %s … %s'", clip(given, 40), sub.Name(), clip(given, 40))
		case flag == nil:
			return usagef("there is no flag %s: see '%s --help'", clip(given, 40), sub.CommandPath())
		case takesValue(sub, given):
			i++
		}
	}
	return nil
}

// commandAfterFlags finds a command that is not the first argument, and returns it with the
// arguments before it, which are none if there is no such command.
func commandAfterFlags(root *cobra.Command, args []string) (sub *cobra.Command, before []string) {
	for i, arg := range args {
		if arg == "--" || i == 0 && !strings.HasPrefix(arg, "-") {
			break // the command is the first
		}
		sub, _, err := root.Find([]string{arg})
		if !strings.HasPrefix(arg, "-") && err == nil && sub != root && !takesValue(sub, args[i-1]) {
			return sub, args[:i]
		}
	}
	return root, nil
}

// takesValue reports whether the next argument is the value of this one.
func takesValue(cmd *cobra.Command, arg string) bool {
	name, long := strings.CutPrefix(arg, "--")
	flag := cmd.Flag(name)
	return long && flag != nil && flag.NoOptDefVal == ""
}

// noFlag is the error of a flag that the command does not have.
func noFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	name := unknown.GetSpecifiedName()
	if means := flockFlags[name]; means != "" && (cmd.Name() == "run" || cmd.Name() == "lock") {
		dash := "--"
		if len(name) == 1 {
			dash = "-"
		}
		return fmt.Errorf("there is no flag %s%s: did you mean %s?", dash, name, means)
	}
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
