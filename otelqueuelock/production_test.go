package otelqueuelock_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestProductionAlerts compares the alerts of docs/production.md with the rules. TestCrashedHolder has what follows a crash.
func TestProductionAlerts(t *testing.T) {
	page, rules := read(t, "../docs/production.md"), read(t, "../docs/grafana/alerts.yml")
	if !strings.Contains(page, "**A wait must be longer than `TTL` and a turn.** Otherwise a crash makes waiters give up.") ||
		!strings.Contains(page, "Others get the lock after one `TTL`, and `QueuelockEvicted` fires.") ||
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
