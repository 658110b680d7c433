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
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/help"
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
	if err := misplaced(root, args); err != nil {
		fmt.Fprintln(root.ErrOrStderr(), message(err))
		return codeOf(err)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if failure := out.Err(); failure != nil && (err == nil || errors.Is(err, failure)) {
		err = &exitError{exitFailed, fmt.Errorf("the output cannot be written: %w", failure)}
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
		Long: `queuelock runs commands under locks of DynamoDB: they take a ticket and are served in its
order, one at a time, or several with run --shared or run --permits. Where one is served at a
time, the ticket is a fencing token as well.`,
		Example: `  queuelock demo                             # eight processes take turns
  queuelock create-table                     # once
  queuelock run deploy/prod -- ./deploy.sh   # one at a time, in order
  queuelock status deploy/prod               # the holders and the waiters`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0])
			}
			return usagef("a command is missing: see 'queuelock --help'")
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	root.CompletionOptions.DisableDefaultCmd = true // newCompletion replaces it
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w: see '%s --help'", plainly(cmd, err), cmd.CommandPath())
	})
	root.PersistentFlags().Bool("verbose", false, "print the details of an error as well")
	root.Version = version()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(newHelp())
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), help.Text(cmd)) })
	root.AddCommand(newSupervise()) // hidden
	root.AddCommand(
		newRun(), newLock(), newUnlock(), newCheck(), newEvict(), newRevoke(), newSweep(), newTable(),
		newStatus(), newLs(), newHistory(), newTop(),
		newCreateTable(), newDoctor(), newLocal(), newDemo(), newBench(), newCompletion(), newVersion(), newMan(), newKeeper(), newDemoWorker(),
	)
	root.AddCommand(newTemplate())
	return root
}

// plainly says of a flag's value what is needed instead of it; an error of
// another form is left as it is.
func plainly(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if before := cmd.Flags().Args(); cmd.Name() == "run" && len(before) > 1 {
			return fmt.Errorf(`the command must be after "--", as in 'queuelock run %s -- %s …'`, clip(before[0], 40), clip(before[1], 40))
		}
		return noFlag(cmd, unknown)
	}
	var value, name string
	if n, _ := fmt.Sscanf(err.Error(), "invalid argument %q for %q flag", &value, &name); n < 2 {
		return err
	}
	name = name[strings.LastIndex(name, "--"):] // without the letter, as in "-E, --conflict-exit-code"
	flag := cmd.Flag(strings.TrimPrefix(name, "--"))
	if flag == nil {
		return err
	}
	switch flag.Value.Type() {
	case "duration":
		if plainSeconds.MatchString(value) {
			return fmt.Errorf("%s %s: need a duration: did you mean %ss?", name, value, strings.TrimSuffix(value, "."))
		}
		return fmt.Errorf("%s %s: need a duration such as 5s", name, value)
	case "bool":
		return fmt.Errorf("%s=%s: need true or false, or %s alone", name, value, name)
	case "int":
		return fmt.Errorf("%s %s: need a whole number", name, value)
	case "reason":
		return fmt.Errorf("%s is empty: name what the lock is for, or leave the flag out", name)
	}
	return err
}

// newHelp is cobra's own, but one that fails if there is nothing to tell of.
func newHelp() *cobra.Command {
	var whole bool
	cmd := &cobra.Command{
		Use:   "help [COMMAND | settings]",
		Short: "Help about a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "settings" {
				status, _, _ := cmd.Root().Find([]string{"status"}) // as it has all of them
				_, err := fmt.Fprint(cmd.OutOrStdout(), help.Settings(status))
				return err
			}
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(cmd.Root(), strings.Join(args, " "))
			}
			about.InitDefaultHelpFlag()
			if whole {
				_, err := fmt.Fprint(cmd.OutOrStdout(), help.Whole(about))
				return err
			}
			return about.Help()
		},
	}
	cmd.Flags().BoolVar(&whole, "all", false, "describe every flag, in more than a screen")
	return cmd
}
