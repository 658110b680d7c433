package otelqueuelock_test

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/failfast"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/otelqueuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// The program of docs/production.md.
func Example_production() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := production(ctx, cfg); err != nil {
		log.Fatal(err)
	}
}

// production takes a lock as the page does.
func production(ctx context.Context, cfg aws.Config) error {
	db := dynamodb.NewFromConfig(failfast.Config(cfg), otelqueuelock.Instrument())
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{
		Observer: otelqueuelock.New(),
		Logger:   slog.Default(),
	})
	if err != nil {
		return err
	}
	err = locks.Do(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.For(time.Minute), ship)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, locks.Close(ending))
}

// TestProduction plays the code of docs/production.md, and finds its metrics.
func TestProduction(t *testing.T) {
	server := httptest.NewServer(embedded.New(embedded.Config{}))
	defer server.Close()
	cfg := aws.Config{
		Region: "local", BaseEndpoint: aws.String(server.URL),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	}
	reader := sdkmetric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	defer otel.SetMeterProvider(before)
	if err := queuelock.CreateTable(t.Context(), dynamodb.NewFromConfig(cfg), "queuelock", queuelock.Config{}); err != nil {
		t.Fatal(err)
	}
	if err := production(t.Context(), cfg); err != nil {
		t.Error(err)
	}
	found := collected(t, reader)
	for _, name := range []string{"queuelock.acquire.duration", "queuelock.hold.duration", "queuelock.losses", "queuelock.requests", "queuelock.capacity"} {
		if _, ok := found[name]; !ok {
			t.Errorf("there is no %s: %v", name, found)
		}
	}
}

// collected returns the sums of counters by name, and zero for other metrics.
func collected(t *testing.T, reader sdkmetric.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.WithoutCancel(t.Context()), &all); err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			sums[m.Name] += 0
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
				for _, point := range sum.DataPoints {
					sums[m.Name] += point.Value
				}
			}
		}
	}
	return sums
}

// TestProductionAlerts makes what docs/production.md says of a crash, and compares its alerts with the rules.
func TestProductionAlerts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, table := newTelemetry(), queuelocktest.NewTable(t)
		a, db := s.client(t, table, "a")
		b, _ := s.client(t, table, "b")
		acquire(t, t.Context(), a)
		db.Partition() // the process has crashed
		begun := time.Now()
		release(t, acquire(t, t.Context(), b))
		if waited := time.Since(begun); waited < 50*time.Second || waited > 70*time.Second {
			t.Errorf("after a crash another client waited %v, want about one TTL", waited)
		}
		synctest.Wait()
		if evictions := collected(t, s.reader)["queuelock.evictions"]; evictions != 1 {
			t.Errorf("%d evictions", evictions)
		}
		db.Heal()
	})
	page, rules := read(t, "../docs/production.md"), read(t, "../docs/grafana/alerts.yml")
	if !strings.Contains(page, "Others get the lock after one `TTL`, and `QueuelockEvicted` fires.") ||
		!regexp.MustCompile(`alert: QueuelockEvicted\n +expr: .*queuelock_evictions_total.*> 0\n`).MatchString(rules) {
		t.Error("the page or the rule is another one")
	}
	rows := regexp.MustCompile("(?m)^\\| `(Queuelock\\w+)` \\| ([^|]+) \\|").FindAllStringSubmatch(page, -1)
	for _, row := range rows {
		summary := regexp.MustCompile(`alert: ` + row[1] + `\n(?: .*\n)*? +annotations: \{summary: "(.*)"\}`).FindStringSubmatch(rules)
		if summary == nil || !strings.EqualFold(strings.TrimSuffix(summary[1], " ({{ $labels.queuelock_cause }})"), row[2]) {
			t.Errorf("%s: the page says %q, the rule %q", row[1], row[2], summary)
		}
	}
	if len(rows) != 3 {
		t.Errorf("the page has %d alerts", len(rows))
	}
}
