// Command bench measures this library beside other locks, whose dependencies stay in this module.
// `make bench-peers` runs it. The command `queuelock bench` measures this library alone.
//
//	main ── proxies (delay, count) ── dynoxide, servers of others       a process each
//	  └─ pipes ── workers, which run the clients ──┘                    a process each
//
// The package scenario has what is measured, and the package subject what it is measured
// of. Subjects are measured one after the other, never at the same time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/queuelock/queuelock/bench/internal/engine"
	"github.com/queuelock/queuelock/bench/internal/report"
	"github.com/queuelock/queuelock/bench/internal/subject"
	"github.com/queuelock/queuelock/bench/internal/worker"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// commit is that of the source. The Makefile sets it.
var commit = "unknown"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	// The benchmark starts itself for these.
	switch {
	case len(args) == 3 && args[0] == "worker":
		of, ok := subject.Named(args[1])
		if !ok || of.Open == nil {
			return fmt.Errorf("no worker of %q", args[1])
		}
		return worker.Serve(of, args[2], os.Stdin, os.Stdout)
	case len(args) == 4 && args[0] == "etcd-server":
		return engine.ServeEtcd(args[1], args[2], args[3])
	}
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.render != "" {
		return report.Render(s.render)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	results, err := measure(ctx, s)
	switch interrupted := ctx.Err() != nil; {
	case interrupted && s.compare == "":
		fmt.Fprintln(os.Stderr, "bench: interrupted: what is kept are the cases that are complete")
		if results = results.Complete(); s.out != "" {
			s.into = s.out
		}
	case err != nil:
		return err
	}
	return errors.Join(err, keep(results, s))
}

// keep writes, prints or compares what was measured.
func keep(results report.Run, s settings) error {
	if folder := s.into + s.compare; folder != "" {
		before, err := report.Load(filepath.Join(folder, report.Folder))
		if err != nil {
			return err
		}
		if s.compare == "" {
			return write(before.Replace(results), s.into)
		}
		if n := results.Compare(before, os.Stdout); n > 0 {
			return fmt.Errorf("%d values differ from those of %s: measure them again, or find out why", n, folder)
		}
		return nil
	}
	return write(results, s.out)
}

// settings are the flags.
type settings struct {
	subjects  []subject.Subject
	scenarios []scenario.Scenario
	size      scenario.Size
	roundTrip time.Duration
	reps      int
	out       string
	into      string
	compare   string
	render    string
	dynoxide  string
	modules   string
	profiles  string
	command   string
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	subjects := flags.String("subjects", "", "the `NAMES` of what to measure, separated by commas (default all: "+names(subject.All, subjectName)+")")
	text := flags.String("case", "", "only the cases whose name contains `TEXT`, such as \"50 ms, 8\"")
	scenarios := flags.String("scenarios", "", "the `NAMES` of scenarios (default all: "+names(scenario.All, scenarioName)+")")
	flags.BoolVar(&s.size.Quick, "quick", false, "measure little, in about two minutes instead of three hours")
	flags.BoolVar(&s.size.Most, "most", false, "measure 128 contenders as well")
	flags.DurationVar(&s.roundTrip, "rtt", 4*time.Millisecond, "the round trip that proxies add")
	flags.IntVar(&s.reps, "reps", 0, "repetitions (default 3, and 1 with --quick)")
	flags.StringVar(&s.out, "out", "", "the `FOLDER` to write benchmarks.md and benchmarks/ to (default: print the tables)")
	flags.StringVar(&s.into, "into", "", "the `FOLDER` with the tables of an earlier run, in which to replace the results of what is measured")
	flags.StringVar(&s.compare, "compare", "", "the `FOLDER` with the tables of an earlier run, with whose requests, capacity units and memory to compare what is measured, of the same cases")
	flags.StringVar(&s.render, "render", "", "measure nothing, and write the page and the pictures of that `FOLDER` again, from its tables")
	flags.StringVar(&s.dynoxide, "dynoxide", filepath.Join(".tools", "dynoxide-1.2.1", "dynoxide"), "the engine")
	flags.StringVar(&s.profiles, "profiles", "", "a `FOLDER` for a processor profile of each process of a subject in Go")
	flags.StringVar(&s.modules, "modules", filepath.Join(".tools", "bench", "node_modules"), "the packages of bench/npm")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	var err error
	if s.subjects, err = choose(*subjects, subject.All, subjectName); err != nil {
		return s, err
	}
	if s.scenarios, err = choose(*scenarios, scenario.All, scenarioName); err != nil {
		return s, err
	}
	if s.scenarios, err = cases(s.scenarios, s.size, *text); err != nil {
		return s, err
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.out != "" && s.into != "":
		return s, errors.New("--out and --into exclude each other")
	case s.compare != "" && s.out+s.into != "":
		return s, errors.New("--compare excludes --out and --into")
	case s.roundTrip < 0:
		return s, fmt.Errorf("--rtt is %v: at least 0 is needed", s.roundTrip)
	case s.reps < 0:
		return s, fmt.Errorf("--reps is %d: at least 1 is needed", s.reps)
	case s.reps == 0 && s.size.Quick:
		s.reps = 1
	case s.reps == 0:
		s.reps = 3
	}
	if s.modules, err = filepath.Abs(s.modules); err != nil {
		return s, err
	}
	if s.profiles != "" {
		if err := os.MkdirAll(s.profiles, 0o755); err != nil {
			return s, err
		}
	}
	s.command = command(flags)
	return s, nil
}

// command returns the command that measures the same again, without machine paths.
func command(flags *flag.FlagSet) string {
	target := "make bench-peers"
	var set []string
	flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "out", "into", "compare", "dynoxide", "modules", "profiles":
		case "quick":
			target = "make bench-quick"
		case "most":
			set = append(set, "--"+f.Name)
		default:
			set = append(set, "--"+f.Name+" "+quoted(f.Value.String()))
		}
	})
	if len(set) == 0 {
		return target
	}
	return target + ` BENCH="` + strings.Join(set, " ") + `"`
}

// quoted quotes a value for a shell, within double quotes, if that is needed.
func quoted(value string) string {
	if strings.ContainsAny(value, " ") {
		return "'" + value + "'"
	}
	return value
}

// cases returns the scenarios with only those variants whose name contains text, without scenarios that have none.
func cases(all []scenario.Scenario, size scenario.Size, text string) ([]scenario.Scenario, error) {
	var chosen []scenario.Scenario
	for _, s := range all {
		var variants []scenario.Variant
		for _, v := range s.Variants(size) {
			if strings.Contains(v.Name, text) {
				variants = append(variants, v)
			}
		}
		if len(variants) > 0 {
			s.Variants = func(scenario.Size) []scenario.Variant { return variants }
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--case is %q: no case has that in its name", text)
	}
	return chosen, nil
}

func subjectName(s subject.Subject) string    { return s.Name }
func scenarioName(s scenario.Scenario) string { return s.Name }

func names[T any](all []T, name func(T) string) string {
	var list []string
	for _, v := range all {
		list = append(list, name(v))
	}
	return strings.Join(list, ", ")
}

// choose returns those of all that a list of names names, in the order of all.
func choose[T any](list string, all []T, name func(T) string) ([]T, error) {
	if list == "" {
		return all, nil
	}
	wanted := strings.Split(strings.ReplaceAll(list, " ", ""), ",")
	var chosen []T
	for _, v := range all {
		if i := slices.Index(wanted, name(v)); i >= 0 {
			chosen = append(chosen, v)
			wanted = slices.Delete(wanted, i, i+1)
		}
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("%q is not one of %s", wanted[0], names(all, name))
	}
	return chosen, nil
}

// write prints the tables, or writes them to the folder out with the page and its pictures.
func write(r report.Run, out string) error {
	if out == "" {
		return r.Print(os.Stdout)
	}
	return errors.Join(r.Save(filepath.Join(out, report.Folder)), report.Render(out))
}
