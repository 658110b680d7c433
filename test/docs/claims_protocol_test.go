package docs_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/itemkey"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/play"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/conditions"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

const (
	protocolPage = "docs/protocol.md"
	failuresPage = "docs/failures.md"
	formatPage   = "docs/format.md"
)

// inWords are small numbers, as pages write them.
var inWords = []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// thousands returns a number with commas.
func thousands(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

func TestFiguresOfProtocol(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if first := ticket.Base(epoch); !first.IsZero() {
		t.Errorf("tickets of %v begin after %v", epoch, first)
	}
	rate := thousands(int64(ticket.Base(epoch.Add(time.Second)).After(ticket.Number{})))
	says(t, protocolPage, "in %sths of a second since %d", rate, epoch.Year())
	says(t, formatPage, "%s for each second since %d", rate, epoch.Year())
	says(t, protocolPage, "looks at most %s times more", inWords[constantOf(t, "internal/machine", "quickTries")])
	says(t, protocolPage, "if it had one token for at most %v minutes", secondsOf(t, "internal/play", "tokenLife")/60)
	says(t, protocolPage, "replaces %s or more times", inWords[queue.MaxUnsettled])
	says(t, protocolPage, "has read in the last %v s", waitpolicy.NamedWithin.Seconds())
	says(t, protocolPage, "by its first heartbeat, at most %v s later", machine.AcceptAfter.Seconds())
	says(t, protocolPage, "it looks if the grant is %v s old", secondsOf(t, "internal/machine", "acceptedWithin"))
	says(t, protocolPage, "At least %v s must be left", machine.AcceptAfter.Seconds())
	says(t, protocolPage, "sustains heartbeats for, at most %d", queue.MaxPermits)
	says(t, protocolPage, "a lease of %s request timeouts, at least %v s", inWords[play.Grace(time.Minute)/time.Minute], play.Grace(1).Seconds())
	says(t, protocolPage, "EVICT removes up to %d", queue.MaxEvicted)
	says(t, protocolPage, "One request removes up to %d ids", queue.MaxEvicted)
	says(t, protocolPage, "waits %v s for each missing answer", secondsOf(t, "internal/play", "answerGrace"))
	leave := secondsOf(t, "internal/play", "leaveLimit")
	says(t, protocolPage, "CLEAN UP has %v s of its own", leave)
	says(t, protocolPage, "and again %v s later", leave)
	says(t, failuresPage, "sent again, for %v s", leave)
	says(t, protocolPage, "by at most 2^%v", math.Log2(counter.MaxRaise))
	says(t, protocolPage, "and %d ms between DynamoDB's hosts", int(1000*secondsOf(t, "heartbeat", "skew")))
	says(t, failuresPage, "differ by more than %d ms", int(1000*secondsOf(t, "heartbeat", "skew")))
	says(t, protocolPage, "without a date of the last %v minutes", secondsOf(t, "heartbeat", "fresh")/60)
	says(t, protocolPage, "%d ppm of drift", drift())
	says(t, failuresPage, "Drift beyond %d ppm", drift())
	says(t, protocolPage, "The margin is min(`ttl`/10, 2 s + `ttl`/1000).")
	for _, ttl := range []time.Duration{time.Second, 10 * time.Second, time.Minute, time.Hour, queue.MaxLease} {
		if want := min(ttl/10, 2*time.Second+ttl/1000); heartbeat.Margin(ttl) != want {
			t.Errorf("the margin of %v is %v, want %v", ttl, heartbeat.Margin(ttl), want)
		}
	}
}

// drift returns how far a clock may drift, in ppm: by how much an estimate widens.
func drift() int {
	sent := time.Now()
	clock := new(heartbeat.Clock)
	clock.Observe(sent, sent, sent)
	low, high, _ := clock.At(sent)
	later, sooner, _ := clock.At(sent.Add(1_000_000 * time.Second))
	return int(math.Round((sooner.Sub(later) - high.Sub(low)).Seconds() / 2))
}

// TestSentOnce compares the writes that the SDK must not repeat with those of the code.
func TestSentOnce(t *testing.T) {
	var want []string
	for _, w := range conditions.Shapes() {
		if name := strings.TrimSuffix(w.Name, " that seeds"); w.Repeat == clause.BySender && !slices.Contains(want, name) {
			want = append(want, name)
		}
	}
	listed := regexp.MustCompile(`The SDK does not repeat ([^;]+);`).FindStringSubmatch(folded(read(t, protocolPage)))
	if listed == nil {
		t.Fatal("the protocol does not say what the SDK must not repeat")
	}
	got := regexp.MustCompile(`[A-Z]{2,}`).FindAllString(listed[1], -1)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the protocol says that the SDK does not repeat %v, in the code these are %v", got, want)
	}
}

// leases returns the default leases of a holder and of a waiter.
func leases(t *testing.T) (holder, waits time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		a, b := locktest.Two(t, newTable(t), queuelock.Config{}, "a", "b")
		locktest.Acquire(t, a, waitpolicy.NoWait)
		locktest.LockBy(t, b)
		time.Sleep(time.Second)
		state := locktest.Must(a.Viewer().Inspect(t.Context(), order))
		holder, waits = state.Serving[0].TTL, state.Waiting[0].TTL
	})
	return holder, waits
}

// rowOf returns the one row among items.
func rowOf(t *testing.T, items []av.Item) av.Item {
	t.Helper()
	i := slices.IndexFunc(items, func(i av.Item) bool { return i[attr.CreatedAt] != nil })
	if i < 0 {
		t.Fatal("there is no row")
	}
	return items[i]
}

func TestFiguresOfFailures(t *testing.T) {
	holder, waits := leases(t)
	interval := holder / 2
	says(t, failuresPage, "leases of %v s, of waiters %v s, and heartbeats each %v s", holder.Seconds(), waits.Seconds(), interval.Seconds())
	relied := holder - heartbeat.Margin(holder)
	says(t, failuresPage, "paused for up to %v s", math.Floor((relied - interval).Seconds()))
	says(t, failuresPage, "swept and passed after %v s", waits.Seconds()/2)
	says(t, failuresPage, "loses the lock %.1f s after the last renewal that succeeded was sent, with the cause `Unreachable`", relied.Seconds())
	says(t, failuresPage, "the rest of the lease, %v s", holder.Seconds())
	says(t, failuresPage, "delays others by %v s |", waits.Seconds())
	// A request hangs after twice the longest sleep and a request, and two of them end the wait.
	active := max(2*(waitpolicy.Default.Slowest+min(5*time.Second, waits/4)), 30*time.Second)
	says(t, protocolPage, "%v s by default and at least 30 s", active.Seconds())
	says(t, failuresPage, "delays others by %v s |", (2 * active).Seconds())
	says(t, failuresPage, "delays others by %v s with the locks", active.Seconds())
	says(t, failuresPage, "CLEAN UP removes at most %d ids", queue.MaxEvicted)
	says(t, failuresPage, "during %v minute of observation", secondsOf(t, "queue", "malformedLease")/60)
	late := secondsOf(t, "internal/machine", "lateFor") / 60
	says(t, failuresPage, "suspended for more than %v minutes", late)
	says(t, failuresPage, "within %v minutes while a request", late)
	says(t, failuresPage, "relies on it for up to %v s", machine.AcceptAfter.Seconds())
	says(t, failuresPage, "DATE is not sent again for %v minutes", secondsOf(t, "heartbeat", "fresh")/60)
	says(t, failuresPage, "`NoWait` after %v s", secondsOf(t, "internal/machine", "acceptedWithin"))
}

func TestFiguresOfFormat(t *testing.T) {
	says(t, formatPage, "of a semaphore, at most %d,", queue.MaxPermits)
	says(t, formatPage, "%v ms to %v days", 1, queue.MaxLease.Hours()/24)
	for _, ttl := range []int64{0, 1, queue.MaxLease.Milliseconds(), queue.MaxLease.Milliseconds() + 1} {
		r := clause.Reader{Item: clause.Item{attr.Beat: clause.Int(0), attr.TTL: clause.Int(ttl)}}
		if queue.ReadLease(&r); (r.Err == nil) != (ttl >= 1 && ttl <= queue.MaxLease.Milliseconds()) {
			t.Errorf("a lease of %d ms: %v", ttl, r.Err)
		}
	}
	says(t, formatPage, "the lock delay, at most %v hours", queue.MaxDelay.Hours())
	says(t, formatPage, "at most %s bytes", thousands(constantOf(t, ".", "maxData")))
	says(t, formatPage, "plus %v minutes for a late release", secondsOf(t, "internal/machine", "lateFor")/60)
	says(t, formatPage, "in the year %d", machine.Someday("a").Year())
	unsettled := secondsOf(t, "internal/machine", "unsettledFor") / 60
	says(t, formatPage, "that are %v minute old, or were there for %v minute of their turn", unsettled, unsettled)
	says(t, formatPage, "the TTL attribute (N): %v hour after the end", secondsOf(t, "queue", "expiryGrace")/3600)
	says(t, formatPage, "and %d zeros", ticket.Digits)
	says(t, formatPage, "the ticket in %d digits", ticket.Digits)
	says(t, formatPage, "more than %s bytes", thousands(table.MaxPartitionKey))
	says(t, formatPage, "under the reason `%s`", queuelock.ItemReason)
	says(t, "docs/glossary.md", "`%s` by default", queuelock.DefaultReason)
	home := queue.Home{Table: "orders", Prefix: "lock_", Key: clause.Item{"id": clause.String("order-7")}}
	says(t, formatPage, "```text %s ```", itemkey.Entity(&home))
	for number, want := range map[string]string{"1.0": "1", "0.5": "1/2"} {
		home.Key["id"] = av.Num(number)
		says(t, formatPage, "`%s` is `%s`", number, want)
		if entity := itemkey.Entity(&home); !strings.HasSuffix(entity, `N:"`+want+`"`) {
			t.Errorf("the entity of %s is %s", number, entity)
		}
	}
	q := table.Queue{Items: queue.Items{PK: "pk", SK: "sk", Entity: "e"}, Store: &table.Store{}}
	entity, all := counter.Of(q, ticket.ScopeEntity), counter.Of(q, ticket.ScopeTable)
	says(t, formatPage, "its sort key `%s`; of the table, `%s` and `%s`", av.Text(entity.Key["sk"]), av.Text(all.Key["pk"]), av.Text(all.Key["sk"]))
	says(t, "docs/errors.md", "the counter is at 10^%d-1", len(ticket.Max.String()))
}
