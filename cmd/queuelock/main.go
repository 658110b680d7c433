// Command queuelock runs commands under locks of Amazon DynamoDB, first come,
// first served, and shows and operates their queues. See "queuelock --help".
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
)

func init() { cobra.EnableCommandSorting = false } // the first are those that most users need

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: it returns the exit code. When ctx ends, whatever
// runs is brought to its end as by SIGTERM.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	out := display.NewFilter(stdout)
	root.SetOut(out)
	root.SetErr(display.NewFilter(stderr))
	if completing(args) {
		root.SetOut(stdout) // its lines have tabs; entities that are not printable are left out
		if slices.Contains(args[:len(args)-1], "--") {
			fmt.Fprintf(stdout, ":%d\n", cobra.ShellCompDirectiveDefault) // a command's arguments are files to the shell
			return 0
		}
	}
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		needsCommand(completion) // cobra would succeed, and print the help
	}
	begun := false
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	cmd, err := root.ExecuteContextC(ctx)
	if _, ours := errors.AsType[*exitError](err); err != nil && !begun && !ours {
		err = usagef("%w: see '%s --help'", err, cmd.CommandPath()) // cobra has refused the arguments
	}
	if failure := out.Err(); failure != nil && (err == nil || errors.Is(err, failure)) {
		err = failed(exitFailed, "the output cannot be written: %w", failure)
	}
	if err != nil {
		if line := message(err); line != "" {
			fmt.Fprintln(root.ErrOrStderr(), line)
			printDetails(cmd, root.ErrOrStderr(), err)
		}
	}
	return codeOf(err)
}

// direct returns the output below the filter: for processes that inherit it, for scripts, and
// for what writes the codes of a terminal itself.
func direct(out io.Writer) io.Writer {
	if filter, ok := out.(*display.Filter); ok {
		return filter.Unwrap()
	}
	return out
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "queuelock",
		Short: "Fair locks on Amazon DynamoDB: first come, first served",
		Long: `queuelock runs commands under locks of DynamoDB: they take a ticket and are
served in its order, one at a time, or several with run --shared or run
--permits. Where one is served at a time, the ticket is a fencing token as well.`,
		Example: `  queuelock demo                             # eight processes take turns
  queuelock create-table                     # once
  queuelock run deploy/prod -- ./deploy.sh   # one at a time, in order
  queuelock status deploy/prod               # the holders and the waiters`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	needsCommand(root)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetFlagErrorFunc(plainly)
	// The usage is first: texts are long, as they describe exit codes and JSON as well.
	root.SetHelpTemplate("{{.Short}}.\n\n{{.UsageString}}{{with .Long}}\n{{.}}\n{{end}}")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 100"))
	root.PersistentFlags().Bool("verbose", false, "print the details of an error as well")
	root.Version = version()
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version") // cobra's has -v, which is --verbose of run
	root.SetHelpCommand(newHelp())
	root.AddCommand(newSupervise()) // hidden
	root.AddCommand(
		newRun(), newLock(), newUnlock(), newCheck(), newRenew(), newEvict(), newRevoke(), newSweep(), newTable(),
		newStatus(), newLs(), newHistory(), newTop(),
		newCreateTable(), newDoctor(), newLocal(), newDemo(), newBench(), newVersion(), newMan(), newKeeper(), newDemoWorker(),
	)
	root.AddCommand(newTemplate())
	return root
}

// needsCommand makes a command that only has others below it fail without one of them.
func needsCommand(cmd *cobra.Command) {
	cmd.Args, cmd.RunE = noCommand, func(*cobra.Command, []string) error { return nil }
}

func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("a command is missing: see '%s --help'", cmd.CommandPath())
	}
	cmd.SuggestionsMinimumDistance = 2 // as cobra's own message has it
	name, next := clip(args[0], 40), fmt.Sprintf("see '%s --help'", cmd.CommandPath())
	if similar := cmd.SuggestionsFor(name); len(similar) > 0 {
		next = fmt.Sprintf("did you mean '%s %s'?", cmd.CommandPath(), similar[0])
	}
	return usagef("there is no command %q: %s", name, next)
}

// plainly says of a flag's value what is needed instead of it, without the words of package strconv.
func plainly(cmd *cobra.Command, err error) error {
	see := fmt.Sprintf(": see '%s --help'", cmd.CommandPath())
	if before := cmd.Flags().Args(); errors.As(err, new(*pflag.NotExistError)) && cmd.Name() == "run" && len(before) > 1 {
		return usagef(`the command must be after "--", as in 'queuelock run %s -- %s …'%s`, clip(before[0], 40), clip(before[1], 40), see)
	}
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return usagef("%w%s", err, see)
	}
	name, value, kind := "--"+wrong.GetFlag().Name, wrong.GetValue(), wrong.GetFlag().Value.Type()
	given, needs := name+" "+clip(value, 40), ""
	if value == "" {
		given = name + " is empty"
	}
	known, refused := errors.AsType[needed](err)
	switch {
	case refused:
		needs = string(known)
	case kind == "duration":
		needs = "need a duration such as 5s"
		if plainSeconds.MatchString(value) {
			needs = fmt.Sprintf("need a duration: did you mean %ss?", strings.TrimSuffix(value, "."))
		}
	case kind == "bool":
		given, needs = name+"="+clip(value, 40), "need true or false, or the flag alone"
	case kind == "int" || kind == "int64":
		needs = "need a whole number"
	case kind == "float64":
		needs = "need a number"
	default:
		return usagef("%w%s", err, see)
	}
	return usagef("%s: %s%s", given, needs, see)
}

// newHelp is cobra's own, but one that fails if there is nothing to tell of.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(cmd.Root(), []string{strings.Join(args, " ")})
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// newMan makes the command that writes the manual pages, for packages of distributions.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cmd.Root().DisableAutoGenTag = true // the pages depend on the program alone
			return doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Source: "queuelock", Manual: "queuelock"}, args[0])
		},
	}
}
