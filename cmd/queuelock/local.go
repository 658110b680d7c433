package main

import (
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/tablefile"
	"github.com/queuelock/queuelock/internal/embedded"
)

// localFlags are the flags of "queuelock local".
type localFlags struct {
	port   int
	table  string
	file   string
	noSync bool
}

func newLocal() *cobra.Command {
	var f localFlags
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Serve a DynamoDB on 127.0.0.1, in memory or in a file, for one host",
		Long: `Serves a DynamoDB on 127.0.0.1, for several processes to develop and try things
against, or for a host without AWS. Nothing is authenticated.

Without --file nothing is kept when it ends. With it the tables are in that file as well:
what was answered survives a kill and a restart. Leases go on by the clock, also while it
is down. It is one process on one host, and no cluster: while it is down, no lock is acquired.

It creates the table first, so that "queuelock run" works at once. Then it prints the
line to export; it stops at SIGINT or SIGTERM, with exit code 0.

Exit codes:
  64   wrong usage
  69   the port is taken; the file is in use, is another's or damaged, or cannot be written`,
		Example: `  queuelock local                    # in one terminal; then, in another, with the line it prints:
  export AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000 AWS_REGION=local …
  queuelock run greeting -- sleep 10

  queuelock local --file locks.db                # kept in a file, which is created
  queuelock local --port 0 --create-table ""     # any free port, no table`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.serve(cmd)
		},
	}
	within(cmd.Flags(), &f.port, "port", "", 8000, 0, 65535, "the port to serve at; 0 picks a free one")
	cmd.Flags().StringVar(&f.table, "create-table", defaultTable(), "the `NAME` of the table to create at the start; empty: none")
	cmd.Flags().StringVar(&f.file, "file", "", "keep the tables in the file at `PATH`, which is created if it is absent")
	cmd.Flags().BoolVar(&f.noSync, "no-sync", false, "with --file, do not wait for the disk: a crash of the host may damage the file, a kill does not")
	return cmd
}

func (f *localFlags) check(cmd *cobra.Command) error {
	switch {
	case f.file == "" && cmd.Flags().Changed("file"):
		return usagef("--file: name a file")
	case f.file == "" && f.noSync:
		return usagef("--no-sync needs --file")
	case f.table != "":
		return checkTable("--create-table", f.table)
	}
	return nil
}

// engine is the engine to serve, and the file that it is kept in, nil for none.
func (f *localFlags) engine() (*embedded.Engine, *tablefile.File, error) {
	if f.file == "" {
		return embedded.New(embedded.Config{}), nil, nil
	}
	file, err := tablefile.Open(f.file, !f.noSync)
	if err != nil {
		return nil, nil, unavailable(err)
	}
	engine := embedded.New(embedded.Config{Journal: file})
	if err := file.Load(engine.Restore); err != nil {
		return nil, nil, unavailable(errors.Join(err, file.Close()))
	}
	return engine, file, nil
}

func (f *localFlags) serve(cmd *cobra.Command) (err error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	engine, file, err := f.engine()
	if err != nil {
		return err
	}
	var failed <-chan error // of the file; without one never
	if file != nil {
		failed = file.Failed()
		defer closing(&err, file.Close) // after the server
	}
	s, err := serve(ctx, f.port, engine)
	if err != nil {
		return err
	}
	defer closing(&err, s.close)
	if f.table != "" {
		db := connectLocal(s.url)
		err := createTable(ctx, db, f.table)
		db.close()
		if err != nil {
			select {
			case err := <-failed: // says more
				return unavailable(err)
			default:
				return err
			}
		}
	}
	if err := f.announce(cmd.OutOrStdout(), s.url); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.ended:
		return unavailable(err)
	case err := <-failed:
		return unavailable(err)
	}
}

// closing closes what was used, and reports the error of that if there was none before.
func closing(err *error, what func() error) {
	if closeErr := what(); *err == nil && closeErr != nil {
		*err = unavailable(closeErr)
	}
}

// announce says what is served, and how to use it.
func (f *localFlags) announce(out io.Writer, url string) error {
	if f.file == "" {
		fmt.Fprintf(out, "# An in-memory DynamoDB listens at %s; nothing is kept when it ends (Ctrl-C).\n", url)
	} else {
		fmt.Fprintf(out, "# A DynamoDB listens at %s, and keeps its tables in %s (Ctrl-C ends it).\n", url, f.file)
		fmt.Fprintln(out, "# It is for this host alone, and no cluster: while it is down, no lock is acquired.")
	}
	if f.table != "" {
		fmt.Fprintf(out, "# It has the table %q. In another terminal:\n", f.table)
	}
	_, err := fmt.Fprintf(out, "export %s\n", strings.Join(localSettings(url), " "))
	return err
}
