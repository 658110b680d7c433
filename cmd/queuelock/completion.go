package main

import (
	"context"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
)

// completionLimit bounds the scan for entities: a user waits for it. Tests shorten it.
var completionLimit = 2 * time.Second

// shells are the shells with completions, and what writes them.
var shells = []struct {
	name  string
	write func(root *cobra.Command, out io.Writer) error
}{
	{"bash", writeBash},
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
		Short: "Print a script that completes commands, flags, their values and entities",
		Long: `Prints a script for SHELL, which is one of ` + one + `.
Load it in the shell's start file, or install it where the shell looks for completions. For
entities and reasons it scans the table, for at most ` + completionLimit.String() + ` and with ` + strconv.Itoa(defaultRate) + ` read units a second on average.`,
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

// bashWords replaces a function of cobra's script that needs the package bash-completion.
const bashWords = `
__queuelock_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    # Join what = and : have split, up to the cursor.
    local line=${COMP_LINE:0:COMP_POINT} gap word before i
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        gap=${line%%[![:space:]]*}
        line=${line#"$gap"}
        word=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)); then
            word=$line
        fi
        if [[ $i == 0 || -n $gap || $word != [=:]* && $before != *[=:] ]]; then
            words+=("")
        fi
        cword=$((${#words[@]} - 1))
        words[cword]+=$word
        line=${line#"$word"}
        before=$word
    done
    cur=${words[cword]}
}
`

func writeBash(root *cobra.Command, out io.Writer) error {
	if err := root.GenBashCompletionV2(out, true); err != nil {
		return err
	}
	_, err := io.WriteString(out, bashWords)
	return err
}

// completing reports whether a script of completion asks for the end of the last argument.
func completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// offer lets completion know the values of a flag.
func offer(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // there is no such flag
	}
}

// offerFiles completes names of files.
func offerFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// offerList completes the last of the names in a list with commas.
func offerList(names []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, text string) (lists []string, _ cobra.ShellCompDirective) {
		before := text[:strings.LastIndex(text, ",")+1]
		for _, name := range names {
			lists = append(lists, before+name)
		}
		return lists, cobra.ShellCompDirectiveNoFileComp
	}
}

// offerEntities completes an argument that may name an entity after those before it.
func (s *settings) offerEntities(wanted func(before []string) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if !wanted(args) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found := s.scanned(cmd.Context(), prefix, func(state *queue.State) string { return state.Entity })
		return slices.DeleteFunc(found, func(name string) bool { return slices.Contains(args, name) }), cobra.ShellCompDirectiveNoFileComp
	}
}

// offerReasons completes a reason of the entities before it, or of all if there are none.
func (s *settings) offerReasons(cmd *cobra.Command, entities []string, prefix string) ([]string, cobra.ShellCompDirective) {
	common := ""
	if len(entities) == 1 {
		common = entities[0]
	}
	return s.scanned(cmd.Context(), common, func(state *queue.State) string {
		if len(entities) > 0 && !slices.Contains(entities, state.Entity) || !strings.HasPrefix(state.Reason, prefix) {
			return ""
		}
		return state.Reason
	}), cobra.ShellCompDirectiveNoFileComp
}

// offerTables completes the name of a table. It fails silently, as scanned does.
func (s *settings) offerTables(cmd *cobra.Command, _ []string, prefix string) (names []string, _ cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionLimit)
	defer cancel()
	db, err := s.connect(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer db.close()
	for pages := dynamodb.NewListTablesPaginator(db, &dynamodb.ListTablesInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			break
		}
		for _, name := range page.TableNames {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// scanned returns what name returns for the queues of the table whose entities begin with the
// prefix, as far as they are found in time; "" is nothing. It fails silently: the user is in
// the middle of a line. Those that a terminal or a script of completion would take for
// something else are left out.
func (s *settings) scanned(ctx context.Context, prefix string, name func(*queue.State) string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionLimit)
	defer cancel()
	if checkTable("--table", s.table) != nil {
		return nil
	}
	db, err := s.connect(ctx)
	if err != nil {
		return nil
	}
	defer db.close()
	client, err := queuelock.New(db, s.table, s.config(queuelock.Config{}))
	if err != nil {
		return nil
	}
	found := make(map[string]bool)
	for state := range client.Viewer().Queues(ctx, queuelock.ScanConfig{Prefix: prefix, MaxRate: defaultRate}) {
		if state == nil {
			continue
		}
		if text := name(state); text != "" && display.Printable(text) && !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "_activeHelp_") {
			found[text] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
