package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/queuelock/queuelock/bench/internal/engine"
	"github.com/queuelock/queuelock/bench/internal/proxy"
	"github.com/queuelock/queuelock/bench/internal/report"
	"github.com/queuelock/queuelock/bench/internal/subject"
	"github.com/queuelock/queuelock/bench/internal/worker"
	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// trialLimit bounds one measurement. The longest that is meant takes two minutes.
const trialLimit = 4 * time.Minute

// site is the engines and their proxies.
type site struct {
	settings
	dynamo    *engine.Engine
	dynamoFar *proxy.HTTP
	server    *engine.Engine // of the subject that is measured, if it has one
	serverFar *proxy.TCP
	tables    int
	workers   int // that were profiled
	folder    string
	slack     time.Duration
}

func measure(ctx context.Context, s settings) (report.Run, error) {
	run := report.Run{
		Run:       benchmark.Run{Scenarios: s.scenarios, Size: s.size, Repetitions: s.reps},
		RoundTrip: s.roundTrip, Command: s.command, Commit: commit,
		Machine: benchmark.Here(), Engine: strings.ReplaceAll(filepath.Base(filepath.Dir(s.dynoxide)), "-", " "),
	}
	if s.subjects = present(s.subjects, os.Stderr); len(s.subjects) == 0 {
		return run, errors.New("no subject is left")
	}
	for _, of := range s.subjects {
		run.Subjects = append(run.Subjects, of.Subject)
	}
	at := &site{settings: s}
	defer at.stop()
	if err := at.start(ctx); err != nil {
		return run, err
	}
	var err error
	if run.Bare, err = at.bare(ctx); err != nil {
		return run, err
	}
	for _, bare := range run.Bare {
		if bare.What == dynamoRead {
			run.Slack = bare.Slack()
		}
	}
	at.slack = run.Slack
	err = run.Measure(ctx, os.Stderr, func(ctx context.Context, subject int, variant scenario.Variant, repetition int) (scenario.Values, error) {
		return at.try(ctx, s.subjects[subject], variant, repetition)
	})
	for i := range run.Results {
		run.Results[i].Commit = commit
	}
	return run, err
}

// present returns the subjects without those whose server is not installed, and says why. Those that stay name the server's version.
func present(all []subject.Subject, missing io.Writer) (found []subject.Subject) {
	for _, of := range all {
		if of.Server != nil && of.Server.Find != nil {
			version, err := of.Server.Find()
			if err != nil {
				fmt.Fprintf(missing, "bench: %s is left out: %v\n", of.Name, err)
				continue
			}
			of.Config += "; " + version
		}
		found = append(found, of)
	}
	return found
}

// try measures one subject once.
func (a *site) try(ctx context.Context, of subject.Subject, variant scenario.Variant, repetition int) (scenario.Values, error) {
	ctx, cancel := context.WithTimeout(ctx, trialLimit)
	defer cancel()
	a.tables++
	here := subject.Site{DynamoDB: "http://" + a.dynamo.Address, Table: fmt.Sprintf("bench-%d", a.tables)}
	far := here
	far.DynamoDB = a.dynamoFar.URL()
	if of.Server != nil {
		// It has no tables, and locks of killed clients stay for their leases: each measurement gets an empty server.
		if err := a.startServer(ctx, of); err != nil {
			return nil, err
		}
		here.Server, far.Server = a.server.Address, a.serverFar.Address()
	}
	if of.Create != nil {
		if err := of.Create(ctx, here); err != nil {
			return nil, fmt.Errorf("prepare the table or server: %w", err)
		}
	}
	trial := &scenario.Trial{
		Start:     func() (scenario.Process, error) { return worker.Start(of, far, a.modules, a.profile(of, variant)) },
		RoundTrip: a.roundTrip, Slack: a.slack,
		Random: rand.New(rand.NewPCG(uint64(repetition), 10)),
	}
	if of.Server == nil {
		trial.Count = func() capacity.Count { return a.dynamoFar.Count(far.Table) }
		trial.Engine = a.dynamo.ProcessorSeconds
	} else {
		trial.Engine = a.server.ProcessorSeconds
	}
	defer trial.Close()
	return variant.Measure(ctx, trial)
}

// profile returns the file for the profile of a worker that is started now. Empty: none is wanted.
func (a *site) profile(of subject.Subject, variant scenario.Variant) string {
	if a.profiles == "" {
		return ""
	}
	a.workers++
	name := strings.NewReplacer(" ", "-", ",", "").Replace(variant.Name)
	return filepath.Join(a.profiles, fmt.Sprintf("%s-%s-%d.pprof", of.Name, name, a.workers))
}

func (a *site) start(ctx context.Context) error {
	var err error
	if a.dynamo, err = engine.StartDynoxide(ctx, a.dynoxide); err != nil {
		return fmt.Errorf("dynoxide: %w", err)
	}
	if a.dynamoFar, err = proxy.StartHTTP("http://"+a.dynamo.Address, a.roundTrip); err != nil {
		return err
	}
	return nil
}

// startServer replaces the server by an empty one of the subject.
func (a *site) startServer(ctx context.Context, of subject.Subject) error {
	a.stopServer()
	var err error
	if a.folder, err = os.MkdirTemp("", "queuelock-bench-"); err != nil {
		return err
	}
	if a.server, err = of.Server.Start(ctx, a.folder); err != nil {
		return fmt.Errorf("%s: %w", of.Server.Name, err)
	}
	a.serverFar, err = proxy.StartTCP(a.server.Address, a.roundTrip)
	return err
}

func (a *site) stopServer() {
	if a.serverFar != nil {
		a.serverFar.Close()
	}
	if a.server != nil {
		a.server.Stop()
	}
	if a.folder != "" {
		_ = os.RemoveAll(a.folder)
	}
	a.serverFar, a.server, a.folder = nil, nil, ""
}

func (a *site) stop() {
	a.stopServer()
	if a.dynamoFar != nil {
		a.dynamoFar.Close()
	}
	if a.dynamo != nil {
		a.dynamo.Stop()
	}
}

const dynamoRead = "a read of DynamoDB"

// bareRequests is how many bare requests are measured.
const bareRequests = 100

// bare measures a read of each engine through its proxy.
func (a *site) bare(ctx context.Context) ([]benchmark.Bare, error) {
	here := subject.Site{DynamoDB: "http://" + a.dynamo.Address, Table: "bare"}
	if err := subject.Queuelock.Create(ctx, here); err != nil {
		return nil, err
	}
	get := `{"TableName":"bare","ConsistentRead":true,"Key":{"pk":{"S":"a"},"sk":{"S":"b"}}}`
	dynamo, err := benchmark.MeasureBare(dynamoRead, bareRequests, func() error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.dynamoFar.URL(), strings.NewReader(get))
		if err != nil {
			return err
		}
		request.Header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
		request.Header.Set("Content-Type", "application/x-amz-json-1.0")
		request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
		request.Header.Set("X-Amz-Date", "20260101T000000Z")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("a bare read: %s", text)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	all := []benchmark.Bare{dynamo}
	for _, of := range a.subjects {
		if of.Server == nil {
			continue
		}
		if err := a.startServer(ctx, of); err != nil {
			return nil, err
		}
		read, err := of.Server.Bare(ctx, subject.Site{Server: a.serverFar.Address()})
		if err != nil {
			return nil, err
		}
		bare, err := benchmark.MeasureBare("a read of "+of.Server.Name, bareRequests, func() error { return read(ctx) })
		if err != nil {
			return nil, err
		}
		all = append(all, bare)
	}
	return all, nil
}
