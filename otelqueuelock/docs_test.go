package otelqueuelock_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/queuelock/queuelock/otelqueuelock"
	"github.com/queuelock/queuelock/queuelocktest"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// published returns all metrics: their names and units, and the names and labels of Prometheus.
func published(t *testing.T) (units map[string]string, labels map[string][]string) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	s := newTelemetry(exporter)
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, db := s.client(t, table, "a")
		b, _ := s.client(t, table, "b")
		held := acquire(t, t.Context(), a)
		db.Inject(queuelocktest.Refuse(queuelocktest.Throttling).Times(1))
		if err := held.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		time.AfterFunc(5*time.Second, func() { release(t, held) })
		release(t, acquire(t, t.Context(), b))
	})
	report(t, otelqueuelock.New(s.options()...))
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	units = map[string]string{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			units[m.Name] = m.Unit
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels = map[string][]string{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[f.GetName()] = append(labels[f.GetName()], l.GetName())
			}
		}
	}
	return units, labels
}

// TestDocumentedMetrics compares the tables, the dashboard and the alert rules with what is published.
func TestDocumentedMetrics(t *testing.T) {
	units, labels := published(t)
	if len(units) < 10 {
		t.Fatalf("only %v", units)
	}
	page := read(t, "../docs/telemetry.md")
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z.]+)` \\| `([a-z_]+)` \\| \\w+, (\\S+) \\|").FindAllStringSubmatch(page, -1) {
		listed[row[1]] = true
		if units[row[1]] != row[3] || labels[row[2]] == nil {
			t.Errorf("the page has %s, %s and %s: there are %v and %v", row[1], row[2], row[3], units, labels)
		}
	}
	for name := range units {
		if !listed[name] {
			t.Errorf("docs/telemetry.md does not list %s", name)
		}
		if !strings.Contains(read(t, "doc.go"), "| "+name) {
			t.Errorf("doc.go does not list %s", name)
		}
	}
	for _, file := range []string{"../docs/grafana/queuelock.json", "../docs/grafana/alerts.yml"} {
		checkQueries(t, file, labels)
	}
}

// checkQueries checks that the metrics of a file exist, with the labels that it uses, and that it uses all of them.
func checkQueries(t *testing.T, file string, labels map[string][]string) {
	t.Helper()
	text := read(t, file)
	if strings.HasSuffix(file, ".json") && !json.Valid([]byte(text)) {
		t.Errorf("%s is not JSON", file)
	}
	var used []string
	for _, name := range regexp.MustCompile(`\bqueuelock_\w+|\b(?:db_operation_name|error_type)\b`).FindAllString(text, -1) {
		metric := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		if _, exists := labels[metric]; exists {
			used = append(used, metric)
			continue
		}
		isLabel := false
		for _, of := range labels {
			isLabel = isLabel || slices.Contains(of, name)
		}
		if !isLabel {
			t.Errorf("%s: there is no metric and no label %s", file, name)
		}
	}
	for metric := range labels {
		if strings.HasPrefix(metric, "queuelock_") && !slices.Contains(used, metric) && strings.HasSuffix(file, ".json") {
			t.Errorf("%s does not show %s", file, metric)
		}
	}
}

// TestAlerts finds what to do for each alert.
func TestAlerts(t *testing.T) {
	var rules, rows []string
	for _, m := range regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(read(t, "../docs/grafana/alerts.yml"), -1) {
		rules = append(rules, m[1])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(Queuelock\\w+)` \\| .+ \\|$").FindAllStringSubmatch(read(t, "../docs/telemetry.md"), -1) {
		rows = append(rows, m[1])
	}
	if len(rules) == 0 || !slices.Equal(rules, rows) {
		t.Errorf("the rules are %v, the page has %v", rules, rows)
	}
}
