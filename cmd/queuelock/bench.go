package main

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock/internal/workload/benchmark/library"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

type benchFlags struct {
	settings
	names []string
	size  scenario.Size
	reps  int
	yes   bool

	scenarios []scenario.Scenario // those named
}

func newBench() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the library's speed and cost in a table",
		Long: `Measures how fast locks of a table are acquired and handed over, and counts requests and
capacity units. First it prints what that costs at most, and it stops when so much is
spent. For a table on AWS it needs --yes. Progress goes to standard error, and tables in
Markdown to standard output. SIGINT ends it with what was measured until then.

The table may be in use: the keys begin with "queuelock-bench-" and random letters, and
are deleted after each measurement. All clients are in this process, with connections of
their own. One client stands for a process, and is separated from the table to crash.

Scenarios: ` + strings.Join(benchNames()[:5], ", ") + ",\n" + strings.Join(benchNames()[5:], ", ") + `.
All of them, three times each, take about ten minutes; --quick half a minute.

` + exitCodes(codeUsage, codeUnavailable, "130  interrupted (143: terminated)"),
		Example: `  queuelock bench --quick --endpoint http://127.0.0.1:8000
  queuelock bench --table locks --scenarios idle,contended --yes > aws.md`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.addTable(cmd)
	cmd.Flags().StringSliceVar(&f.names, "scenarios", nil, "`NAMES` of "+strings.Join(benchNames(), ", ")+" (default all)")
	needs(cmd.Flags(), "scenarios", "need some of "+strings.Join(benchNames(), ", "), func() bool {
		return !slices.ContainsFunc(f.names, func(name string) bool { return !slices.Contains(benchNames(), name) })
	})
	offer(cmd, "scenarios", cobra.FixedCompletions(benchNames(), cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&f.size.Quick, "quick", false, "few cases, shorter, and once")
	within(cmd.Flags(), &f.reps, "reps", "", 0, 1, 100, "how often each case is measured, 1 to 100 (default 3, and 1 with --quick)")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "spend money: needed for a table on AWS")
	return cmd
}

func benchNames() []string {
	var names []string
	for _, s := range scenario.ForLibrary() {
		names = append(names, s.Name)
	}
	return names
}

func (f *benchFlags) check() error {
	switch {
	case f.reps == 0 && f.size.Quick:
		f.reps = 1
	case f.reps == 0:
		f.reps = 3
	}
	for _, s := range scenario.ForLibrary() {
		if f.names == nil || slices.Contains(f.names, s.Name) {
			f.scenarios = append(f.scenarios, s)
		}
	}
	return checkTable("--table", f.table)
}

func (f *benchFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	endpoint, err := f.address()
	if err != nil {
		return err
	}
	stderr, alone := cmd.ErrOrStderr(), f.alone()
	fmt.Fprintf(stderr, "This takes at most %s.\n", library.Costs(alone.Most()))
	if isAWS(endpoint) && !f.yes {
		return usagef("the table is on AWS, where this costs money: repeat the command with --yes")
	}
	ctx, stop := signalContext(cmd.Context())
	defer stop()
	db, err := f.connect(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer db.close()
	alone.Where = cmp.Or(endpoint, "AWS, "+db.Options().Region)
	alone.Table.Connect = func(opts ...func(*dynamodb.Options)) (*dynamodb.Client, func()) {
		another := db.another(opts...)
		return another.Client, another.close
	}
	text, err := alone.Measure(ctx, stderr)
	if text == "" {
		return interrupted(ctx, unavailable(err))
	}
	if _, err := io.WriteString(cmd.OutOrStdout(), text); err != nil {
		return err
	}
	if err != nil {
		return interrupted(ctx, &exitError{exitFailed, err})
	}
	return nil
}

func (f *benchFlags) alone() *library.Alone {
	return &library.Alone{
		Table:     &library.Table{Name: f.table, Prefix: "queuelock-bench-" + strings.ToLower(rand.Text()[:10])},
		Scenarios: f.scenarios, Size: f.size, Repetitions: f.reps, Version: version(),
	}
}

// isAWS reports whether requests to the endpoint cost money. An empty one is that of AWS.
func isAWS(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil || endpoint == "" {
		return true
	}
	host := strings.TrimSuffix(u.Hostname(), ".cn")
	return strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".api.aws")
}
