package otelqueuelock_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestProductionAlerts makes what docs/production.md says of a crash, and compares its alerts with the rules.
func TestProductionAlerts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, table := newTelemetry(), queuelocktest.NewTable(t)
		a, db := s.client(t, table, "a")
		b, _ := s.client(t, table, "b")
		acquire(t, t.Context(), a)
		db.Partition() // the process has crashed
		begun := time.Now()
		if _, err := b.Acquire(t.Context(), key, waitpolicy.For(time.Minute)); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("a wait of one TTL after a crash: %v", err)
		}
		release(t, acquire(t, t.Context(), b))
		if waited := time.Since(begun); waited < 50*time.Second || waited > 70*time.Second {
			t.Errorf("after a crash another client waited %v, want about one TTL", waited)
		}
		synctest.Wait()
		evictions := 0.0
		for _, p := range s.points(t, "queuelock.evictions") {
			evictions += p.sum
		}
		if evictions != 1 {
			t.Errorf("%v evictions", evictions)
		}
		db.Heal()
	})
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
