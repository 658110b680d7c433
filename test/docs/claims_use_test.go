package docs_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
	"github.com/queuelock/queuelock/wake"
)

// day is the longest unit of the pages.
const day = 24 * time.Hour

// long returns a duration as the pages write it: 1 ms, 57.94 s, 10 min, 24 h, 7 days.
func long(d time.Duration) string {
	switch {
	case d%day == 0 && d > day:
		return fmt.Sprintf("%d days", d/day)
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%v s", math.Round(d.Seconds()*100)/100)
}

// cell returns a cell of the row of a page that begins with the name.
func cell(t *testing.T, page, name string, column int) string {
	t.Helper()
	for _, line := range readPage(t, page).lines {
		if strings.HasPrefix(line, "| `"+name) {
			return strings.TrimSpace(strings.Split(line, "|")[column])
		}
	}
	t.Errorf("%s has no row of %s", page, name)
	return ""
}

// TestDefaults compares the defaults of docs/configuration.md, and what the pages compute from them, with what a client
// with the zero Config writes and reports.
func TestDefaults(t *testing.T) {
	holder, waiter := leases(t)
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		locks, _ := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, locks, waitpolicy.NoWait)
		locktest.OK(t, lock.Extend(t.Context()))
		says(t, "docs/configuration.md", "with defaults %s after it sent the last renewal", long(lock.Remaining()))
		locktest.Release(t, lock)
	})
	for row, want := range map[string]string{
		"TTL": long(holder), "WaiterTTL": long(waiter) + ", or `TTL` if less", "Poll.Fastest": long(waitpolicy.Default.Fastest),
		"Poll.SlowestNext": long(waitpolicy.Default.SlowestNext), "Poll.Slowest": long(waitpolicy.Default.Slowest),
	} {
		if got := cell(t, "docs/configuration.md", row+"`", 3); got != want {
			t.Errorf("docs/configuration.md has the default %q of %s, want %q", got, row, want)
		}
	}
	left := holder/2 - heartbeat.Margin(holder)
	says(t, "docs/configuration.md", "%s of %s are left", long(left), long(holder))
	says(t, "docs/faq.md", "A pause of up to %d s costs a holder nothing", left/time.Second)
	timeout := waiter / 4
	says(t, "docs/configuration.md", "%s with all defaults", long(timeout))
	attention := 2 * (waitpolicy.Default.Slowest + timeout)
	says(t, "docs/configuration.md", "that has not returned after %s with defaults", long(attention))
	says(t, "README.md", "Others wait for the rest of it, %s by default", long(holder))
	says(t, "README.md", "delay others by %s in total. A waiter that hangs delays them by %s.", long(waiter), long(2*attention))
	says(t, "docs/faq.md", "A crash [delays others](failures.md#crash-pause-and-partition) by one lease, %s;", long(holder))
}

// TestBounds compares the bounds of docs/configuration.md with what Validate accepts: a value at the bound, and not the
// one beyond it.
func TestBounds(t *testing.T) {
	margin := 2*time.Second + 60*time.Millisecond // of a minute
	poll := func(s waitpolicy.Schedule) queuelock.Config { return queuelock.Config{Poll: s} }
	ttl := func(d time.Duration) queuelock.Config { return queuelock.Config{TTL: d} }
	for _, b := range []struct {
		row, text string
		good, bad queuelock.Config
	}{
		{"TTL", long(time.Second) + " to", ttl(time.Second), ttl(time.Second - 1)},
		{"TTL", "to " + long(7*day), ttl(7 * day), ttl(7*day + 1)},
		{"HeartbeatInterval", "at least 10 ms", queuelock.Config{HeartbeatInterval: 10 * time.Millisecond}, queuelock.Config{HeartbeatInterval: 10*time.Millisecond - 1}},
		{
			"HeartbeatInterval", "less than 4/5 of `TTL`",
			queuelock.Config{HeartbeatInterval: 48*time.Second - 1, RequestTimeout: time.Second},
			queuelock.Config{HeartbeatInterval: 48 * time.Second, RequestTimeout: time.Second},
		},
		{"WaiterTTL", long(time.Second) + " to", queuelock.Config{WaiterTTL: time.Second}, queuelock.Config{WaiterTTL: time.Second - 1}},
		{"WaiterTTL", "to " + long(7*day), queuelock.Config{WaiterTTL: 7 * day}, queuelock.Config{WaiterTTL: 7*day + 1}},
		{"RequestTimeout", "at least 1 ms", queuelock.Config{RequestTimeout: time.Millisecond}, queuelock.Config{RequestTimeout: time.Millisecond - 1}},
		{
			"RequestTimeout", "`RequestTimeout`, `HeartbeatInterval` and the margin together must be less than `TTL`.",
			queuelock.Config{HeartbeatInterval: 60*time.Second - margin - 14*time.Second - 1, RequestTimeout: 14 * time.Second, WaiterTTL: time.Minute},
			queuelock.Config{HeartbeatInterval: 60*time.Second - margin - 14*time.Second, RequestTimeout: 14 * time.Second, WaiterTTL: time.Minute},
		},
		{
			"RequestTimeout", "`RequestTimeout` and the margin of a waiter's lease together must be less than half of `WaiterTTL`.",
			queuelock.Config{RequestTimeout: 6*time.Second - 1}, queuelock.Config{RequestTimeout: 6 * time.Second},
		},
		{"Owner", "at most 256 bytes", queuelock.Config{Owner: strings.Repeat("o", 256)}, queuelock.Config{Owner: strings.Repeat("o", 257)}},
		{"ItemPrefix", "at most 200 bytes", queuelock.Config{ItemPrefix: strings.Repeat("p", 200)}, queuelock.Config{ItemPrefix: strings.Repeat("p", 201)}},
		{"ItemPrefix", "no brackets", queuelock.Config{ItemPrefix: "p_"}, queuelock.Config{ItemPrefix: "p["}},
		{"Forget", "at least 24 h", queuelock.Config{Forget: day}, queuelock.Config{Forget: day - 1}},
		{"Forget", "only with `ScopeQueue`", queuelock.Config{Forget: day}, queuelock.Config{Forget: day, Scope: ticket.ScopeEntity}},
		{
			"Poll.Fastest", "at least 1 ms",
			poll(waitpolicy.Schedule{Fastest: time.Millisecond}), poll(waitpolicy.Schedule{Fastest: time.Millisecond - 1}),
		},
		{
			"Poll.SlowestNext", "at least `Poll.Fastest`",
			poll(waitpolicy.Schedule{Fastest: time.Second}), poll(waitpolicy.Schedule{Fastest: time.Second + 1}),
		},
		{
			"Poll.Slowest", "at least `Poll.SlowestNext`",
			poll(waitpolicy.Schedule{SlowestNext: 15 * time.Second}), poll(waitpolicy.Schedule{SlowestNext: 15*time.Second + 1}),
		},
		{"Block", "1 to 1,000", queuelock.Config{Block: queue.MaxTurns}, queuelock.Config{Block: queue.MaxTurns + 1}},
		{"Block", "1 to 1,000", queuelock.Config{Block: 1}, queuelock.Config{Block: -1}},
		{"Wake", "not a nil pointer", queuelock.Config{}, queuelock.Config{Wake: (*wake.UDP)(nil)}},
	} {
		if strings.HasPrefix(b.text, "`") { // a sentence below the table
			says(t, "docs/configuration.md", "%s", b.text)
		} else if bounds := cell(t, "docs/configuration.md", b.row+"`", 4); !strings.Contains(bounds, b.text) {
			t.Errorf("docs/configuration.md has the bounds %q of %s, without %q", bounds, b.row, b.text)
		}
		if err := b.good.Validate("queuelock", nil); err != nil {
			t.Errorf("%s, %s: %v", b.row, b.text, err)
		}
		field, _, _ := strings.Cut(b.row, ".")
		if err := b.bad.Validate("queuelock", nil); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not bounded: %s: %v", b.row, b.text, err)
		}
	}
}

// TestOptionBounds compares the bounds of the options with what Validate accepts.
func TestOptionBounds(t *testing.T) {
	key, item := queuelock.Key{Entity: "order-7"}, queuelock.ItemKey{Table: "orders", Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "7"}}}
	data := func(n int) queuelock.AcquireOption { return queuelock.WithData(make([]byte, n)) }
	expiring := func(d time.Duration) queuelock.AcquireOption {
		return queuelock.OnExpiring(d, func(*queuelock.Lock) {})
	}
	margin := 2*time.Second + 60*time.Millisecond
	least := time.Minute - margin - 30*time.Second - 3750*time.Millisecond
	slow := queuelock.WithTTL(10 * time.Minute)
	options := func(o ...queuelock.AcquireOption) []queuelock.AcquireOption { return o }
	group := func(n int) queuelock.AcquireOption {
		return queuelock.Supersede(queuelock.Group(strings.Repeat("g", n)))
	}
	tried := map[string]bool{"OnHandle(": true} // whose calls refuse it: test/modes
	for _, b := range []struct {
		row, text string
		good, bad []queuelock.AcquireOption
	}{
		{"WithTTL(", "as `TTL`", options(queuelock.WithTTL(time.Second)), options(queuelock.WithTTL(time.Second - 1))},
		{"WithOwner(", "at most 256 bytes", options(queuelock.WithOwner(strings.Repeat("o", 256))), options(queuelock.WithOwner(strings.Repeat("o", 257)))},
		{"WithData(", "4,096 bytes", options(data(4096)), options(data(4097))},
		{"WithData(", "256 with `Shared`", options(data(256), queuelock.Shared()), options(data(257), queuelock.Shared())},
		{"WithData(", "less its group", options(data(0), queuelock.Shared(), group(256)), options(data(1), queuelock.Shared(), group(256))},
		{"WithData(", "less with many `Permits`", options(data(256), queuelock.Permits(2)), options(data(4096), queuelock.Permits(500), slow)},
		{"NoHeartbeat(", "not with `FailClosed`", options(queuelock.NoHeartbeat()), options(queuelock.NoHeartbeat(), queuelock.FailClosed())},
		{"OnExpiring(", long(least) + " with defaults", options(expiring(least)), options(expiring(least + 1))},
		{"KeepPlace(", "15 s to", options(queuelock.KeepPlace(15 * time.Second)), options(queuelock.KeepPlace(15*time.Second - 1))},
		{"KeepPlace(", "24 h", options(queuelock.KeepPlace(day)), options(queuelock.KeepPlace(day + 1))},
		{"KeepPlace(", "`FailClosed`", options(queuelock.KeepPlace(day)), options(queuelock.KeepPlace(day), queuelock.FailClosed())},
		{"Shared(", "not with `Permits`", options(queuelock.Shared()), options(queuelock.Shared(), queuelock.Permits(2))},
		{"Permits(", "1 to", options(queuelock.Permits(1)), options(queuelock.Permits(0))},
		{"Permits(", "to 500", options(queuelock.Permits(500), slow), options(queuelock.Permits(501), slow)},
		{"LockDelay(", "at most 24 h", options(queuelock.LockDelay(day)), options(queuelock.LockDelay(day + 1))},
		{"FailClosed(", "not with `OnExpiring`", options(queuelock.FailClosed()), options(queuelock.FailClosed(), expiring(time.Second))},
		{"FailClosed(", "`LockDelay`", options(queuelock.FailClosed()), options(queuelock.FailClosed(), queuelock.LockDelay(time.Second))},
		{"HoldAtLeast(", "1 ms", options(queuelock.HoldAtLeast(time.Millisecond)), options(queuelock.HoldAtLeast(time.Microsecond))},
		{"HoldAtLeast(", "144 h", options(queuelock.HoldAtLeast(6 * day)), options(queuelock.HoldAtLeast(6*day + 1))},
		{"HoldAtLeast(", "not with `Shared`", options(queuelock.Shared()), options(queuelock.Shared(), queuelock.HoldAtLeast(day))},
		{"Every(", "the same", options(queuelock.Every(6 * day)), options(queuelock.Every(6*day + 1))},
		{"MaxWaiters(", "0 to", options(queuelock.MaxWaiters(0)), options(queuelock.MaxWaiters(-1))},
		{"MaxWaiters(", "to 10,000", options(queuelock.MaxWaiters(10_000)), options(queuelock.MaxWaiters(10_001))},
		{"MaxWaiters(", "not with `Supersede`", options(queuelock.Supersede()), options(queuelock.MaxWaiters(1), queuelock.Supersede())},
		{"Supersede(Group(", "at most 256 bytes", options(group(256)), options(group(257))},
		{"Supersede(CancelHolder", "the same", options(queuelock.Supersede(queuelock.CancelHolder)), options(queuelock.Supersede(queuelock.Group(""), queuelock.CancelHolder))},
		{"CreateItem(", "only with `LockItem`", nil, options(queuelock.CreateItem())},
	} {
		tried[b.row] = true
		if bounds := cell(t, "docs/configuration.md", b.row, 3); !strings.Contains(bounds, b.text) {
			t.Errorf("docs/configuration.md has the bounds %q of %s, without %q", bounds, b.row, b.text)
		}
		if err := (queuelock.Config{}).Validate("queuelock", key, b.good...); err != nil {
			t.Errorf("%s %s: %v", b.row, b.text, err)
		}
		err := (queuelock.Config{}).Validate("queuelock", key, b.bad...)
		option, _, _ := strings.Cut(strings.TrimPrefix(b.row, "With"), "(")
		if err == nil || !strings.Contains(err.Error(), option) {
			t.Errorf("%s is not bounded: %s: %v", b.row, b.text, err)
		}
	}
	locktest.OK(t, (queuelock.Config{}).Validate("queuelock", item, queuelock.CreateItem()))
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+\\((?:Group\\(|CancelHolder)?)[^|]*\\|[^|]*\\| [^|]+\\|$").FindAllStringSubmatch(read(t, "docs/configuration.md"), -1) {
		if !tried[row[1]] {
			t.Errorf("docs/configuration.md has bounds of %s: add a case that keeps them, and one that does not", row[1])
		}
	}
}

// TestLooks compares the bound of the time for which the lock is free with the schedule: of any waiter, however long turns are. TestCrowd
// and TestUnevenTurns of test/pace measure it.
func TestLooks(t *testing.T) {
	const page = "docs/configuration.md"
	s := waitpolicy.Default
	says(t, page, "no longer than the longest of the turns before it, and no longer than %s (`Poll.SlowestNext`) or a sixtieth of that turn", long(s.SlowestNext))
	says(t, page, "where turns were even and end early, up to %s (`Poll.Slowest`)", long(s.Slowest))
	says(t, page, "A bell that is lost costs up to %s, in even turns up to %s", long(4*s.SlowestNext), long(s.Slowest))
	for _, mean := range []time.Duration{0, 20 * time.Millisecond, time.Second, time.Minute, time.Hour} {
		for age := time.Millisecond; age < day; age += age / 3 {
			for _, even := range []bool{false, true} {
				o := waitpolicy.Observation{Serving: true, Age: age, AtMost: age, Mean: mean, Deviation: mean, Trip: 5 * time.Millisecond}
				if even {
					o.Deviation = 0
				}
				for ahead := range 40 {
					o.Ahead = ahead
					most := min(age+time.Duration(ahead+1)*o.Trip, max(s.SlowestNext, age/60))
					if even {
						most = max(age, 4*s.SlowestNext)
					}
					if got := s.Delay(o, 0); got > min(most, s.Slowest) {
						t.Fatalf("%v into a turn, with %d ahead, mean %v, even %v: a waiter sleeps for %v", age, ahead, mean, even, got)
					}
				}
				o.Ahead, o.Bell = 0, true
				if got := s.Delay(o, 0); got > s.Slowest || !even && got > 4*s.SlowestNext {
					t.Fatalf("%v into a turn, mean %v, even %v: a waiter that is not rung sleeps for %v", age, mean, even, got)
				}
			}
		}
	}
}
