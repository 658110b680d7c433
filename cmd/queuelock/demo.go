package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/demo"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
)

// deleteLimit bounds how long the demo tries to delete the table it made.
const deleteLimit = 30 * time.Second

// demoWorkerName is the hidden command by which the demo starts its workers.
const demoWorkerName = "demo-worker"

type demoFlags struct {
	settings
	workers, rounds int
	hold            time.Duration
	json            bool
	pictures        pictureFlags
}

func newDemo() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch processes take turns at one lock while one of them is killed",
		Long: `Starts worker processes that take turns at one lock, each for so many rounds, with the
real library over real sockets. One of them is killed (SIGKILL) in the middle of a turn.

In that turn it does not end by itself, so the kill always hits a holder. That turn
counts as its grant of the round; it is started again and does the rounds that are left.
The waiters are served when the killed holder's lease, here of 2 s, is over.

Each turn is shown when it has ended; then a timeline and a summary. What the summary
says is measured from the workers' own records, on the clock that all processes of the
host share: a turn lasts from after Acquire has returned to before Release is called, or
to when the killed process is gone.

  overlaps           pairs of turns that intersect
  FIFO inversions    newcomers served before a live worker whose row was in the table
                     before the newcomer's request for a number was sent
  token regressions  tickets that are not greater than the one before
  hand-over          from the end of a turn to the next, of one that waited already
  per cycle          requests the workers sent, repetitions by the SDK included, and the
                     capacity units they consumed as DynamoDB reports them (a write
                     refused by its condition counts as one), for each grant; the looks
                     and heartbeats of waiting are in it, creating the table is not

The table is in memory, in this process. With --endpoint it is made at any DynamoDB
instead, under a name of its own, with the AWS settings, and deleted afterwards.`,
		Example: `  queuelock demo
  queuelock demo --workers 3 --rounds 2 --json
  queuelock demo --endpoint http://127.0.0.1:8000
  queuelock demo --endpoint https://dynamodb.eu-central-1.amazonaws.com

Exit codes:
  0    the lock did what it promises
  1    it did not: overlaps, inversions or regressions, grants that fall short, no
       recovery; or the demo itself failed
  64   wrong usage
  69   DynamoDB cannot be used
  130  interrupted (143: terminated); no process is left`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := f.address(); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	within(cmd.Flags(), &f.workers, "workers", "", 8, 2, 64, "how many processes, 2 to 64")
	within(cmd.Flags(), &f.rounds, "rounds", "", 5, 1, 1000, "how many turns each takes, 1 to 1000")
	within(cmd.Flags(), &f.hold, "hold", "", 50*time.Millisecond, time.Millisecond, time.Minute, "how long a turn lasts, 1ms to 1m")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object, and nothing else")
	f.pictures.addFlags(cmd)
	f.addEndpoint(cmd, "the `URL` of a DynamoDB to use instead of the one in memory")
	return cmd
}

func (f *demoFlags) run(cmd *cobra.Command) (err error) {
	ctx, stop := signalContext(cmd.Context())
	defer stop()
	files, err := f.pictures.open()
	if err != nil {
		return err
	}
	defer files.close()
	setting, err := f.set(ctx, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setting.strike(ctx)) }()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	out, stderr := cmd.OutOrStdout(), direct(cmd.ErrOrStderr())
	show := func(line string) { fmt.Fprintln(out, line) }
	if f.json {
		show = nil
	} else {
		fmt.Fprintf(out, "%d workers take %s each of %v at one lock, in %s.\n\n", f.workers, display.Count(f.rounds, "turn"), f.hold, setting.where)
	}
	result, err := demo.Run(ctx, demo.Config{
		Workers: f.workers, Rounds: f.rounds, Hold: f.hold,
		Table: setting.table, Entity: "demo", Show: show,
		Command: func() *exec.Cmd {
			worker := exec.Command(program, demoWorkerName, "--endpoint", setting.endpoint)
			worker.Env, worker.Stderr = setting.env, stderr
			return worker
		},
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	return errors.Join(f.tell(out, result), files.write(result.Chart()))
}

func (f *demoFlags) tell(out io.Writer, result *demo.Result) error {
	if f.json {
		if err := display.JSON(out, result.Report()); err != nil {
			return err
		}
	} else if err := result.Chart().Print(out, isUTF8()); err != nil {
		return err
	}
	if problems := result.Problems(); len(problems) > 0 {
		return &exitError{exitFailed, errors.New("the lock broke its promise: " + strings.Join(problems, ", "))}
	}
	return nil
}

type scene struct {
	table, endpoint, where string
	env                    []string // of the workers
	database               *database
	server                 *server // nil: another endpoint
}

// set makes the scene: an engine, unless another DynamoDB is named, and a
// table.
func (f *demoFlags) set(ctx context.Context, stderr io.Writer) (*scene, error) {
	s := &scene{table: "queuelock-demo-" + strings.ToLower(rand.Text()[:10]), endpoint: f.endpoint, env: os.Environ()}
	if f.endpoint != "" {
		db, err := f.contact(ctx, stderr, s.table)
		if err != nil {
			return nil, interrupted(ctx, err)
		}
		s.env = append(s.env, f.environment()...)
		s.database, s.where = db, fmt.Sprintf("the table %q at %s", s.table, f.endpoint)
	} else {
		engine, err := serve(ctx, 0, embedded.New(embedded.Config{}))
		if err != nil {
			return nil, err
		}
		s.server, s.endpoint = engine, engine.url
		s.env = localEnvironment(s.env, engine.url)
		s.database, s.where = connectLocal(engine.url), "a table in memory"
	}
	if err := awaitTable(ctx, stderr, s.database, s.table, queuelock.Config{}); err != nil {
		_ = s.strike(ctx) // it may not be there, and what kept it from being made is said
		return nil, interrupted(ctx, err)
	}
	return s, nil
}

// strike takes the scene down, also if ctx has ended.
func (s *scene) strike(ctx context.Context) error {
	defer s.database.close()
	if s.server != nil {
		s.database.close()
		return s.server.close()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteLimit)
	defer cancel()
	if _, err := s.database.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &s.table}); err != nil {
		return unavailable(fmt.Errorf("the table %q could not be deleted, delete it yourself: %w", s.table, err))
	}
	return nil
}

func newDemoWorker() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:    demoWorkerName,
		Short:  "One worker of the demo",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			db, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer db.close()
			var meter capacity.Meter
			metered := db.another(meter.Option)
			defer metered.close()
			if demo.Work(cmd.Context(), metered, meter.Count, cmd.InOrStdin(), direct(cmd.OutOrStdout())) != nil {
				return &exitError{code: exitFailed} // it was reported
			}
			return nil
		},
	}
	s.addFlags(cmd)
	return cmd
}
