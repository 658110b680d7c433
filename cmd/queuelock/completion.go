package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
)

// completionLimit bounds the scan for entities: a user waits for it. Tests shorten it.
var completionLimit = 2 * time.Second

// completing reports whether the output is for a shell: a script of completion, or what that asks for.
func completing(args []string) bool {
	return len(args) > 0 && slices.Contains([]string{"completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, args[0])
}

// offer lets completion know the values of a flag.
func offer(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // there is no such flag
	}
}

func offerFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
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

// scanned returns what name returns for the queues of the table whose entities begin with the
// prefix, as far as they are found in time; "" is nothing. It fails silently: the user is in
// the middle of a line. Those that a terminal or a script of completion would take for
// something else are left out.
func (s *settings) scanned(ctx context.Context, prefix string, name func(*queue.State) string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionLimit)
	defer cancel()
	o, err := s.open(ctx, nil, queuelock.Config{})
	if err != nil {
		return nil
	}
	defer o.close()
	found := make(map[string]bool)
	for state := range o.client.Viewer().Queues(ctx, queuelock.ScanConfig{Prefix: prefix, MaxRate: defaultRate}) {
		if state == nil {
			continue
		}
		if text := name(state); text != "" && display.Printable(text) && !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "_activeHelp_") {
			found[text] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
