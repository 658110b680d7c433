package main

import (
	"context"
	"fmt"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/doctor"
)

const deepLimit = 3 * time.Minute

type doctorFlags struct {
	settings
	deep, json bool
}

func newDoctor() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the settings, the table and the rights",
		Long: `Checks the AWS settings, the way to DynamoDB, the table and the rights to it, prints a line
for each check, and says what to do where something is wrong. It writes nothing.

--deep also writes scratch items with a partition key of their own, and removes them: it
verifies what the library assumes of the engine, and takes locks of each mode. It makes some
two hundred requests. Its report is fit to be pasted into an issue.

` + display.Fields("JSON", doctorReport{}),
		Example: `  queuelock doctor
  queuelock doctor --deep --table locks > report.txt

Exit codes:
  0    nothing has failed; there may be warnings
  1    a check has failed, or the output cannot be written
  64   wrong usage
  69   DynamoDB cannot be used: no answer, no rights, no AWS settings`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().BoolVar(&f.deep, "deep", false, "verify the engine on scratch items as well")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	f.addFlags(cmd)
	return cmd
}

type doctorReport struct {
	Version string          `json:"version" help:"of queuelock"`
	System  string          `json:"system" help:"the operating system and the processor"`
	Table   string          `json:"table" help:"the table"`
	Region  string          `json:"region" help:"the region"`
	Results []doctor.Result `json:"results" help:"the checks"`
	Worst   doctor.Status   `json:"worst" help:"the worst status"`
}

func (f *doctorFlags) run(cmd *cobra.Command) error {
	if err := checkTable("--table", f.table); err != nil {
		return err
	}
	// An interrupted run removes its scratch items.
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	p := f.patience(ctx, cmd.ErrOrStderr(), answerLimit)
	defer p.end()
	db, err := f.connect(p.ctx)
	if err != nil {
		return err
	}
	defer db.close()
	report := doctorReport{
		Version: version(), System: runtime.GOOS + "/" + runtime.GOARCH, Table: f.table, Region: db.Options().Region, Results: []doctor.Result{},
	}
	out := cmd.OutOrStdout()
	if !f.json {
		fmt.Fprintf(out, "%s, %s, table %q, region %s\n", report.Version, report.System, report.Table, report.Region)
	}
	add := func(r doctor.Result) {
		report.Results = append(report.Results, r)
		if !f.json {
			fmt.Fprintln(out, r)
		}
	}
	add(doctor.Result{Name: "settings", Status: doctor.OK, Found: "a region and credentials"})
	subject := doctor.Subject{DB: db.Client, Table: f.table, PartitionKey: f.partitionKey, SortKey: f.sortKey, Expiration: "expiresAt"}
	if err := doctor.Check(p.ctx, subject, add); err != nil {
		return p.unavailable(err)
	}
	p.end()
	switch {
	case !f.deep:
	case doctor.Worst(report.Results) == doctor.Failed:
		add(doctor.Result{Name: "deep checks", Status: doctor.Skipped, Found: "a check before them has failed", Advice: "mend it first"})
	default:
		ctx, cancel := context.WithTimeout(ctx, deepLimit)
		defer cancel()
		if err := doctor.Deep(ctx, subject, add); err != nil {
			return unavailable(err)
		}
	}
	if report.Worst = doctor.Worst(report.Results); f.json {
		if err := display.JSON(out, report); err != nil {
			return err
		}
	}
	if report.Worst == doctor.Failed {
		return &exitError{code: exitFailed}
	}
	return nil
}
