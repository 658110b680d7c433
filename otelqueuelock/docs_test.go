package otelqueuelock_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/otelqueuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	ok(t, err)
	return string(text)
}

// published returns all metrics: their units and kinds, and the names, labels and buckets of Prometheus.
func published(t *testing.T) (units, kinds map[string]string, labels map[string][]string, buckets map[string][]float64) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	ok(t, err)
	s := newTelemetry(exporter)
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, db := s.client(t, table, "a")
		b, _ := s.client(t, table, "b")
		held := acquire(t, t.Context(), a)
		db.Inject(queuelocktest.Throttle(event.KeyRange).Times(1))
		ok(t, held.Extend(t.Context()))
		time.AfterFunc(5*time.Second, func() { release(t, held) })
		release(t, acquire(t, t.Context(), b))
	})
	o := otelqueuelock.New(s.options()...)
	report(t, o)
	from := event.Origin{Time: time.Now(), Context: t.Context(), Acquire: 2, Entity: "e", Reason: "r"}
	o.Observe(event.Granted{Origin: from})
	from.Acquire = 3
	o.Observe(event.Ticketed{Origin: from})
	var all metricdata.ResourceMetrics
	ok(t, s.reader.Collect(t.Context(), &all))
	units, kinds = map[string]string{}, map[string]string{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			units[m.Name] = m.Unit
			switch m.Data.(type) {
			case metricdata.Sum[int64], metricdata.Sum[float64]:
				kinds[m.Name] = "counter"
			case metricdata.Gauge[int64], metricdata.Gauge[float64]:
				kinds[m.Name] = "gauge"
			default:
				kinds[m.Name] = "histogram"
			}
		}
	}
	families, err := registry.Gather()
	ok(t, err)
	labels, buckets = map[string][]string{}, map[string][]float64{}
	for _, f := range families {
		for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
			buckets[f.GetName()] = append(buckets[f.GetName()], b.GetUpperBound())
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[f.GetName()] = append(labels[f.GetName()], l.GetName())
			}
		}
	}
	return units, kinds, labels, buckets
}

// TestDocumentedMetrics compares the tables, the dashboard and the alert rules with what is published.
func TestDocumentedMetrics(t *testing.T) {
	units, kinds, labels, buckets := published(t)
	if len(units) < 10 {
		t.Fatalf("only %v", units)
	}
	page, list := read(t, "../docs/telemetry.md"), read(t, "doc.go")
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z.]+)` \\|").FindAllStringSubmatch(page, -1) {
		if units[row[1]] == "" {
			t.Errorf("docs/telemetry.md has %s: there are %v", row[1], units)
		}
	}
	for name, unit := range units {
		if !strings.Contains(page, "\n| `"+name+"` |") {
			t.Errorf("docs/telemetry.md does not list %s", name)
		}
		if !regexp.MustCompile(`\| ` + regexp.QuoteMeta(name) + ` *\| ` + kinds[name] + ` *\| ` + regexp.QuoteMeta(unit) + ` *\|`).MatchString(list) {
			t.Errorf("doc.go does not list %s, a %s of %s", name, kinds[name], unit)
		}
	}
	for name, of := range buckets {
		if text := strings.Trim(fmt.Sprint(of), "[]"); strings.HasPrefix(name, "queuelock_") && !strings.Contains(list, "\t"+strings.TrimSuffix(text, " +Inf")+" of ") {
			t.Errorf("doc.go does not have the buckets of %s, %s", name, text)
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

// TestAlerts compares the threshold and the severity of each alert with the page, and finds the thresholds of
// quantiles among the buckets: between two of them, a quantile is only an estimate.
func TestAlerts(t *testing.T) {
	_, _, _, buckets := published(t)
	rule := regexp.MustCompile(`(?m)^ +- alert: (\w+)\n +expr: (.+) ([<>] [\d.]+)\n(?: +for: (\w+)\n)? +labels: \{severity: (\w+)\}$`)
	var rules, rows, pages []string
	for _, m := range rule.FindAllStringSubmatch(read(t, "../docs/grafana/alerts.yml"), -1) {
		name, expr, threshold := m[1], m[2], m[3]
		rules = append(rules, name+" "+threshold)
		if text := windowOf(expr); !regexp.MustCompile("\\n\\| `" + name + "` \\| [^|]*" + text + "[^|]*\\|").MatchString(read(t, "../docs/telemetry.md")) {
			t.Errorf("docs/telemetry.md does not say %q of %s", text, name)
		}
		if m[5] == "page" {
			pages = append(pages, "`"+name+"`")
		}
		quantile := regexp.MustCompile(`^histogram_quantile\(.*rate\((\w+)_bucket`).FindStringSubmatch(expr)
		if quantile == nil {
			continue
		}
		limit, err := strconv.ParseFloat(threshold[2:], 64)
		if of := buckets[quantile[1]]; err != nil || !slices.Contains(of, limit) {
			t.Errorf("%s compares with %s: the buckets are %v", name, threshold, of)
		}
	}
	page := read(t, "../docs/telemetry.md")
	row := regexp.MustCompile("(?m)^\\| `(Queuelock\\w+)` \\| .*`([<>] [\\d.]+)` \\| .+ \\|$")
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		rows = append(rows, strings.Join(m[1:], " "))
	}
	if text := strings.Join(pages, " and ") + " page; the others open tickets."; !strings.Contains(strings.Join(strings.Fields(page), " "), text) {
		t.Errorf("docs/telemetry.md does not say %q", text)
	}
	if n := strings.Count(read(t, "../docs/grafana/alerts.yml"), "alert:"); n < 10 || len(rules) != n || !slices.Equal(rules, rows) {
		t.Errorf("the %d rules are\n%s\nthe page has\n%s", n, strings.Join(rules, "\n"), strings.Join(rows, "\n"))
	}
}

// windowOf says what a rule compares with its threshold.
func windowOf(expr string) string {
	if minutes := regexp.MustCompile(`increase\(.*\[(\d+)m\]`).FindStringSubmatch(expr); minutes != nil {
		return " in " + minutes[1] + " min "
	}
	quantile := regexp.MustCompile(`^histogram_quantile\(([\d.]+),`).FindStringSubmatch(expr)
	switch {
	case strings.HasPrefix(expr, "max by"):
		return "age of a "
	case quantile == nil:
		return " a second "
	case quantile[1] == "0.01":
		return "lowest 1% of "
	}
	return map[string]string{"0.95": "highest 5% of ", "0.99": "highest 1% of "}[quantile[1]] + "[a-z]"
}

// TestFirstLoss reads the counters before and after the first loss of a process, and its first failed acquire. Without the
// zero before it, no rate would show that.
func TestFirstLoss(t *testing.T) {
	s := newTelemetry()
	// sums returns the values of a counter by one of their attributes.
	sums := func(name, of string) map[string]float64 {
		found := map[string]float64{}
		for attributes, p := range s.points(t, name) {
			for _, a := range strings.Fields(attributes) {
				if value, ok := strings.CutPrefix(a, of+"="); ok {
					found[value] += p.sum
				}
			}
		}
		return found
	}
	synctest.Test(t, func(t *testing.T) {
		c, db := s.client(t, queuelocktest.NewTable(t), "a")
		if got := s.points(t, "queuelock.events.dropped"); len(got) != 1 {
			t.Errorf("dropped events before the first acquire: %v", got)
		}
		held := acquire(t, t.Context(), c)
		synctest.Wait()
		want := map[string]float64{"evicted": 0, "expired": 0, "unreachable": 0}
		if got := sums("queuelock.losses", "cause"); !maps.Equal(got, want) {
			t.Errorf("losses before the first: %v, want %v", got, want)
		}
		if got := sums("queuelock.evictions", "cause"); !maps.Equal(got, map[string]float64{"expiry": 0, "operator": 0, "operator_force": 0}) {
			t.Errorf("evictions before the first: %v", got)
		}
		failures := map[string]float64{"unavailable": 0, "closed": 0, "cancelled": 0, "not_acquired": 0, "queue_full": 0, "superseded": 0, "error": 0}
		if got := sums("queuelock.acquire.failures", "outcome"); !maps.Equal(got, failures) {
			t.Errorf("failures before the first: %v", got)
		}
		for _, name := range []string{"queuelock.sweeps", "queuelock.tickets.renewed"} {
			if got := sums(name, "reason"); !maps.Equal(got, map[string]float64{"lock": 0}) {
				t.Errorf("%s before the first: %v", name, got)
			}
		}
		db.Partition()
		<-held.Context().Done()
		synctest.Wait()
		want["unreachable"] = 1
		if got := sums("queuelock.losses", "cause"); !maps.Equal(got, want) {
			t.Errorf("losses after the first: %v, want %v", got, want)
		}
		if _, err := c.Acquire(t.Context(), key, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrUnavailable) {
			t.Errorf("an acquire without a table: %v", err)
		}
		synctest.Wait()
		failures["unavailable"] = 1
		if got := sums("queuelock.acquire.failures", "outcome"); !maps.Equal(got, failures) {
			t.Errorf("failures after the first: %v, want %v", got, failures)
		}
		alerts := regexp.MustCompile(`queuelock_acquire_failures_total\{queuelock_outcome="(\w+)"`).FindAllStringSubmatch(read(t, "../docs/grafana/alerts.yml"), -1)
		for _, alert := range alerts {
			if _, exists := failures[alert[1]]; !exists {
				t.Errorf("there is no outcome %s", alert[1])
			}
		}
		if len(alerts) != 2 {
			t.Errorf("the rules are about the failures %v", alerts)
		}
		db.Heal()
	})
}
