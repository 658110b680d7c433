// Command chaos is "make chaos": see package chaos.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/queuelock/queuelock/test/chaos"
	"github.com/queuelock/queuelock/test/chaos/worker"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 64
)

// workerName is the first argument of a worker process: its endpoint follows.
const workerName = "worker"

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 2 && args[0] == workerName {
		return chaos.Worker(args[1])
	}
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(stderr)
	duration := flags.Duration("duration", 2*time.Minute, "how long things are broken")
	seed := flags.Uint64("seed", 0, "the seed of all faults; 0 picks one")
	history := flags.String("history", "", "write all that happened to this `FILE`, as JSON")
	mistake := flags.String("plant", "", "plant a mistake, so that the run must fail: `unfenced`, writes without the fence, or late, such writes after a release in a block")
	expect := flags.Bool("expect-failure", false, "exit with 0 if lost updates or regressions are found, and with 1 if not")
	engine := flags.String("engine", "", "dynoxide's binary (default: the one that `make tools` installs), or queuelock's with --restarts")
	restarts := flags.Int("restarts", 0, "in place of all faults, kill and restart the engine so often, which is \"queuelock local --file\"")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	planted := worker.Mistake(*mistake)
	if !slices.Contains([]worker.Mistake{"", worker.Unfenced, worker.Late}, planted) {
		fmt.Fprintf(stderr, "chaos: there is no mistake %q\n", *mistake)
		return exitUsage
	}
	if flags.NArg() > 0 || *duration <= 0 || *restarts < 0 {
		fmt.Fprintln(stderr, "chaos: a duration above zero, restarts that are not below it, and no arguments are needed")
		return exitUsage
	}
	for *seed == 0 {
		*seed = uint64(rand.Uint32())
	}
	if *engine == "" {
		if *engine = chaos.Installed("."); *engine == "" {
			fmt.Fprintln(stderr, "chaos: dynoxide is not installed: run make tools")
			return exitFailed
		}
	}
	program, err := os.Executable()
	if err != nil {
		fmt.Fprintln(stderr, "chaos:", err)
		return exitFailed
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	cfg := chaos.Config{
		Seed: *seed, Duration: *duration, Workers: 16, Entities: 4, TTL: 2 * time.Second, LongestTurn: 150 * time.Millisecond,
		Callers: 6, Engine: *engine, Mistake: planted,
		Command: func(endpoint string) *exec.Cmd {
			worker := exec.Command(program, workerName, endpoint)
			worker.Stderr = stderr
			return worker
		},
		Show: func(at time.Duration, what string) { fmt.Fprintf(stdout, "%8.3f s  %s\n", at.Seconds(), what) },
	}
	if *restarts > 0 {
		cfg.Restarts, cfg.Workers, cfg.Entities, cfg.Callers = *restarts, 8, 2, 1
		cfg.LongestTurn = 50 * time.Millisecond // so that there is always a write under way
	}
	fmt.Fprintf(stdout, "seed %d, for %v\n\n", *seed, *duration)
	result, err := chaos.Run(ctx, cfg)
	if result != nil && *history != "" {
		err = errors.Join(err, save(*history, result.History))
	}
	if err != nil {
		fmt.Fprintln(stderr, "chaos:", err)
		return exitFailed
	}
	fmt.Fprint(stdout, "\n", result.Text)
	failed := len(result.Problems) > 0
	if *expect {
		failed = result.Violations["lost update"]+result.Violations["regression"] == 0
	}
	if failed {
		return exitFailed
	}
	return 0
}

// save writes a history, to look for the cause of a failure.
func save(name string, history *chaos.History) error {
	text, err := json.Marshal(history)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}
