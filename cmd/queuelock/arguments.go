package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/ticket"
)

// addReason adds --reason. Given, it is not empty: the variable of a script that is
// not set would name the lock of another reason.
func addReason(flags *pflag.FlagSet, text *string) {
	flags.StringVar(text, "reason", "", `what the lock is for (default "lock")`)
	needs(flags, "reason", "name what the lock is for, or leave the flag out", func() bool { return *text != "" })
}

// checkArguments asks the library what it thinks of a configuration, and of a key if one is given:
// whatever it refuses before its first request is the caller's to mend. So is a table's name that DynamoDB does not
// allow.
func checkArguments(table string, cfg queuelock.Config, key queuelock.AnyKey) error {
	if err := checkTable("--table", table); err != nil {
		return err
	}
	if err := cfg.Validate(table, key); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// tableName is a table's name as DynamoDB allows it, or an ARN that ends with
// one. Of an ARN's other parts only their number is checked: they are AWS's to
// judge, and engines that are not AWS have regions of their own.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
var tableName = regexp.MustCompile(`^(arn:[^:]+:dynamodb:[^:]*:[^:]*:table/)?[a-zA-Z0-9_.-]{3,255}$`)

// checkTable checks a table's name that a flag gives. DynamoDB would refuse a
// wrong one as well, but as a failure of its own, after the credentials were
// looked for.
func checkTable(flag, name string) error {
	switch {
	case name == "":
		return usagef("%s is empty: name the table", flag)
	case !tableName.MatchString(name):
		return usagef("%s %q: need 3 to 255 letters, digits, \"_\", \".\" or \"-\", or the ARN of a table", flag, name)
	}
	return nil
}

func oneEntity(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("ENTITY is missing: name what is locked")
	}
	return cobra.MaximumNArgs(1)(cmd, args)
}

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
	needs(cmd.Flags(), name, "need "+c.String(), func() bool { return slices.Contains(c, *value) })
	offer(cmd, name, cobra.FixedCompletions(c, cobra.ShellCompDirectiveNoFileComp))
}

// within adds a flag with bounds, which it is compared with when it is given; most is none if it is zero. A default out of bounds
// means that it was not given: so a zero, such as of a script's variable that is not set, is refused.
func within[T int | int64 | float64 | time.Duration](
	flags *pflag.FlagSet, value *T, name, short string, usual, least, most T, usage string,
) {
	switch v := any(value).(type) {
	case *int:
		flags.IntVarP(v, name, short, int(usual), usage)
	case *int64:
		flags.Int64VarP(v, name, short, int64(usual), usage)
	case *float64:
		flags.Float64VarP(v, name, short, float64(usual), usage)
	case *time.Duration:
		flags.DurationVarP(v, name, short, time.Duration(usual), usage)
	}
	flag := flags.Lookup(name)
	holds := func(v T) bool { return v >= least && (v <= most || most == 0) } // NaN does not
	text := fmt.Sprintf("need a number from %s to %s", textOf(least), textOf(most))
	if most == 0 {
		text = "need a number of at least " + textOf(least)
	}
	isTime := flag.Value.Type() == "duration"
	switch {
	case !holds(usual):
		text += "; leave it out for none"
	case isTime && usual > 0:
		text += ", such as " + textOf(usual)
	}
	if isTime {
		text = strings.Replace(text, "number", "duration", 1)
	}
	needs(flags, name, text, func() bool { return holds(*value) })
}

func textOf[T any](v T) string {
	if f, ok := any(v).(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// needs lets a flag refuse what is given unless that holds. The text says what is needed.
func needs(flags *pflag.FlagSet, name, text string, holds func() bool) {
	flag := flags.Lookup(name)
	flag.Value = checked{flag.Value, holds, needed(text)}
	if flag.DefValue == "0s" || flag.DefValue == "[]" {
		flag.DefValue = "" // which the help does not show: it knows the zero values of pflag's own types alone
	}
}

type checked struct {
	pflag.Value
	holds  func() bool
	needed needed
}

type needed string

func (n needed) Error() string { return string(n) }

func (c checked) Set(text string) error {
	if err := c.Value.Set(text); err != nil || c.holds() {
		return err
	}
	return c.needed
}

var scopes = map[string]ticket.Scope{
	"queue":  ticket.ScopeQueue,
	"entity": ticket.ScopeEntity,
	"table":  ticket.ScopeTable,
}

func addScope(cmd *cobra.Command, name *string) {
	scopeNames.addFlag(cmd, name, "scope", "", "the counter of the tickets")
}
