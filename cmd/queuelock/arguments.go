package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock"
)

// reason is the value of --reason. Given, it is not empty: the variable of a script that is
// not set would name the lock of another reason.
type reason string

func addReason(flags *pflag.FlagSet, text *string) {
	flags.Var((*reason)(text), "reason", `what the lock is for (default "lock")`)
}

func (r *reason) String() string { return string(*r) }
func (r *reason) Type() string   { return "reason" }

func (r *reason) Set(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	*r = reason(text)
	return nil
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
	offer(cmd, name, cobra.FixedCompletions(c, cobra.ShellCompDirectiveNoFileComp))
}
