package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock/internal/benchmark"
	"github.com/queuelock/queuelock/internal/benchmark/capacity"
	"github.com/queuelock/queuelock/internal/benchmark/library"
	"github.com/queuelock/queuelock/internal/benchmark/scenario"
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

` + exitCodesHelp + `
  130  interrupted (143: terminated)`,
		Example: `  queuelock bench --quick --endpoint http://127.0.0.1:8000
  queuelock bench --table locks --scenarios idle,contended --yes > aws.md`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.reps == 0 && cmd.Flags().Changed("reps") {
				return usagef("--reps 0: 1 to 100 are possible")
			}
			if err := f.check(); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	f.addTable(cmd)
	cmd.Flags().StringSliceVar(&f.names, "scenarios", nil, "`NAMES` of "+strings.Join(benchNames(), ", ")+" (default all)")
	offer(cmd, "scenarios", cobra.FixedCompletions(benchNames(), cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&f.size.Quick, "quick", false, "few cases, shorter, and once")
	cmd.Flags().IntVar(&f.reps, "reps", 0, "how often each case is measured, 1 to 100 (default 3, and 1 with --quick)")
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
	case f.reps < 0 || f.reps > 100:
		return usagef("--reps %d: 1 to 100 are possible", f.reps)
	case f.reps == 0 && f.size.Quick:
		f.reps = 1
	case f.reps == 0:
		f.reps = 3
	}
	for _, name := range f.names {
		if !slices.Contains(benchNames(), name) {
			return usagef("--scenarios %s: not one of %s", name, strings.Join(benchNames(), ", "))
		}
	}
	for _, s := range scenario.ForLibrary() {
		if f.names == nil || slices.Contains(f.names, s.Name) {
			f.scenarios = append(f.scenarios, s)
		}
	}
	if err := checkTable("--table", f.table); err != nil {
		return err
	}
	_, err := f.address()
	return err
}

const (
	// bareRequests is how many requests measure the round trip.
	bareRequests = 100
	// benchReserve is added to the bound of the scenarios for the first requests, and for
	// those that end a run that has reached it.
	benchReserve = 1000
)

// most returns what the run may cost at most.
func (f *benchFlags) most() capacity.Count {
	return scenario.Most(f.scenarios, f.size, f.reps).
		Add(capacity.Count{Requests: 2 * benchReserve, WriteUnits: benchReserve, ReadUnits: benchReserve})
}

var errBenchBound = errors.New("the run has cost what was announced, and was stopped")

func (f *benchFlags) run(cmd *cobra.Command) error {
	endpoint, err := f.address()
	if err != nil {
		return err
	}
	stderr, most := cmd.ErrOrStderr(), f.most()
	fmt.Fprintf(stderr, "This takes at most %s.\n", costs(most))
	if isAWS(endpoint) && !f.yes {
		return usagef("the table is on AWS, where this costs money: repeat the command with --yes")
	}
	ctx, stop := signalContext(cmd.Context())
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	db, err := f.connect(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer db.close()
	table := &library.Table{
		Name: f.table, Prefix: "queuelock-bench-" + strings.ToLower(rand.Text()[:10]),
		Connect: func(opts ...func(*dynamodb.Options)) (*dynamodb.Client, func()) {
			another := db.another(opts...)
			return another.Client, another.close
		},
	}
	most.WriteUnits -= benchReserve / 2
	most.ReadUnits -= benchReserve / 2
	table.Meter.Limit(most, func() { cancel(errBenchBound) })
	bare, err := table.Bare(ctx, bareRequests)
	if err != nil {
		return interrupted(ctx, unavailable(err))
	}
	run := benchmark.Run{Subjects: []benchmark.Subject{library.Subject}, Scenarios: f.scenarios, Size: f.size, Repetitions: f.reps}
	err = run.Measure(ctx, stderr, func(ctx context.Context, _ int, v scenario.Variant, repetition int) (scenario.Values, error) {
		return table.Try(ctx, v, repetition, bare)
	})
	where := endpoint
	if where == "" {
		where = "AWS, " + db.Options().Region
	}
	if err := f.tell(cmd.OutOrStdout(), run, where, bare, table); err != nil {
		return err
	}
	return benchError(ctx, run, table, err)
}

// benchError is what kept the run from being complete.
func benchError(ctx context.Context, run benchmark.Run, table *library.Table, err error) error {
	if left := table.Left(); left > 0 {
		err = errors.Join(err, fmt.Errorf("%d keys that begin with %q are left in the table", left, table.Prefix))
	}
	switch failed := slices.IndexFunc(run.Results, func(r benchmark.Result) bool { return r.Err != nil }); {
	case errors.Is(context.Cause(ctx), errBenchBound):
		return &exitError{exitFailed, errBenchBound}
	case err != nil:
		return interrupted(ctx, err)
	case failed >= 0:
		return &exitError{exitFailed, fmt.Errorf("%s: %w", run.Results[failed].Scenario, run.Results[failed].Err)}
	}
	return nil
}

// tell prints the tables of what was measured.
func (f *benchFlags) tell(out io.Writer, run benchmark.Run, where string, bare benchmark.Bare, table *library.Table) error {
	var b strings.Builder
	b.WriteString("# Benchmark\n\n")
	notes := []string{
		fmt.Sprintf("**Table.** %q at %s.", f.table, where),
		fmt.Sprintf("**Bare requests.** %s.", bare),
		fmt.Sprintf("**Machine.** %s.", benchmark.Here()),
		fmt.Sprintf("**Version.** %s.", version()),
		fmt.Sprintf("**Repetitions.** %d. %s", f.reps, benchmark.CellNote(f.reps)),
		"**Clients** are in one process, each with connections of its own. Where a scenario has processes, a client stands for one, and a crash separates it from the table.",
		benchmark.OrderNote(bare.Slack()),
		fmt.Sprintf("**Cost** of this run: %s.", costs(table.Meter.Count())),
	}
	if table.Meter.Count().ReadUnits == 0 {
		notes = append(notes, "This DynamoDB reports no capacity units. Those in the tables are not measured.")
	}
	for _, note := range notes {
		b.WriteString(benchmark.Wrap(note, "- ", "  "))
	}
	for _, s := range run.Scenarios {
		if slices.ContainsFunc(run.Results, func(r benchmark.Result) bool { return r.Scenario == s.Name }) {
			run.Section(&b, s)
		}
	}
	if made, planned := len(run.Results), plannedResults(run); made < planned {
		fmt.Fprintf(&b, "\nThe run ended early: %d of %d measurements were made.\n", made, planned)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func plannedResults(run benchmark.Run) int {
	n := 0
	for _, s := range run.Scenarios {
		n += len(s.Variants(run.Size)) * run.Repetitions
	}
	return n
}

// costs prints a count with its price.
func costs(c capacity.Count) string {
	return fmt.Sprintf("%s requests, %s write units and %s read units: $%.3f at the on-demand price of %s since %s",
		benchmark.Decimal(float64(c.Requests), 0), benchmark.Decimal(c.WriteUnits, 0), benchmark.Decimal(c.ReadUnits, 0),
		c.Price(), capacity.PriceRegion, capacity.PriceSince)
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
