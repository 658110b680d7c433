package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// shells are the shells with completions, and what writes them.
var shells = []struct {
	name  string
	write func(root *cobra.Command, out io.Writer) error
}{
	{"bash", func(root *cobra.Command, out io.Writer) error { return root.GenBashCompletionV2(out, true) }},
	{"zsh", func(root *cobra.Command, out io.Writer) error { return root.GenZshCompletion(out) }},
	{"fish", func(root *cobra.Command, out io.Writer) error { return root.GenFishCompletion(out, true) }},
	{"powershell", func(root *cobra.Command, out io.Writer) error { return root.GenPowerShellCompletionWithDesc(out) }},
}

func newCompletion() *cobra.Command {
	var names []string
	for _, shell := range shells {
		names = append(names, shell.name)
	}
	one := strings.Join(names, ", ")
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes commands and flags",
		Long: `Prints a script for SHELL, which is one of ` + one + `.
Load it in the shell's start file, or install it where the shell looks for completions. That of
bash needs the package bash-completion, loaded before it.`,
		Example: `  source <(queuelock completion bash)
  queuelock completion fish > ~/.config/fish/completions/queuelock.fish`,
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("SHELL is missing: name one of %s", one)
			case len(args) > 1:
				return tooMany(cmd, args[1], "")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, shell := range shells {
				if shell.name == args[0] {
					return shell.write(cmd.Root(), direct(cmd.OutOrStdout()))
				}
			}
			return usagef("there is no completion for %q: name one of %s", clip(args[0], 20), one)
		},
	}
}
