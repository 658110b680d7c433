package docs_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/benchmark"
	"github.com/queuelock/queuelock/internal/benchmark/capacity"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// month is the month of the prices.
const month = 30 * 24 * time.Hour

// How many units a second DynamoDB allows for one partition.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
const (
	partitionUnits = 1000 // write units
	partitionReads = 3000
)

// readUnit is how many bytes a consistent read returns for one read unit.
const readUnit = 4096

// money returns the part of docs/costs.md with prices, from what was measured.
func (c *costs) money(t *testing.T) string {
	var b strings.Builder
	b.WriteString(benchmark.Wrap(fmt.Sprintf("On-demand price in %s since %s, in US dollars: $%g for a million write units, $%g for a million read units, and $%g for a GB of storage for a month.",
		capacity.PriceRegion, capacity.PriceSince, capacity.PriceWriteUnits, capacity.PriceReadUnits, capacity.PriceStorage), "", "") + "\n")
	b.WriteString("| what | write units | read units | price |\n|---|---|---|---|\n")
	cycle := plus(c.of(t, "acquire an idle lock"), c.of(t, "release it, no waiter"), 1)
	spend := func(what string, units capacity.Count) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", what, whole(units.WriteUnits), whole(units.ReadUnits), dollars(units.Price()))
	}
	spend("one lock a second around the clock, without waiters, for 30 days", units(cycle).Times(int(month.Seconds())))
	const million = 1_000_000
	spend("a million turns without waiters", units(cycle).Times(million))
	for _, quoted := range []struct{ what, page, units string }{
		{"a million turns of 50 ms, [seven clients waiting](configuration.md#wake-up-hints)", "docs/configuration.md", `of 50 ms in\s+[\d.]+ ms on average\s+without hints, at ([\d.]+) write and ([\d.]+)\s+read`},
		{"a million turns of 1 s, [seven waiting](configuration.md#wake-up-hints)", "docs/configuration.md", `6 ms without\s+hints, at ([\d.]+) write\s+and ([\d.]+)\s+read`},
		{"the same, with hints", "docs/configuration.md", `with\s+them, at ([\d.]+) write\s+and ([\d.]+)\s+read`},
	} {
		spend(quoted.what, capacity.Count{WriteUnits: million * figure(t, quoted.page, quoted.units, 1), ReadUnits: million * figure(t, quoted.page, quoted.units, 2)})
	}
	holder, waiter := hour(t)
	spend("a lock held for an hour", about(holder))
	spend("the next in line for an hour", about(waiter))
	spend("an hour behind six turns of ten minutes, the last eight minutes left out", about(deep(t, queuelock.Config{})))
	patient := queuelock.Config{WaiterTTL: 15 * time.Minute}
	patient.Poll.Slowest = patient.WaiterTTL
	spend("the same, with `WaiterTTL` and `Poll.Slowest` of 15 minutes", about(deep(t, patient)))
	record, row := sizes(t)
	size := record + capacity.ItemOverhead
	for _, entities := range []float64{10_000, 3 * million, 100 * million} {
		fmt.Fprintf(&b, "| %s idle entities for a month, %d bytes each | 0 | 0 | %s |\n", whole(entities), size,
			dollars(entities*float64(size)/(1<<30)*capacity.PriceStorage))
	}

	b.WriteString("\n| all queues of one entity together | write units each | possible in a second |\n|---|---|---|\n")
	sustained := func(what string, spent queuelocktest.Tally) {
		fmt.Fprintf(&b, "| %s | %g | %s |\n", what, spent.WriteUnits, whole(math.Floor(partitionUnits/spent.WriteUnits)))
	}
	sustained("turns without waiters", cycle)
	sustained("turns with one waiter", c.of(t, "queue, acquire and release, without polls"))
	sustained("turns with several waiters", c.of(t, "a turn in a queue of several clients, without polls"))
	sustained("refused attempts with `NoWait`", c.of(t, "`NoWait` on a busy lock"))
	waiters := significant(partitionUnits * time.Hour.Seconds() / about(waiter).WriteUnits)
	sustained("heartbeats, such as those of about "+whole(waiters)+" waiters", c.of(t, "one heartbeat of a waiter"))
	// A second of n waiters has n/15 looks, each of the n/2 rows ahead on average.
	rest := waitpolicy.Default.Slowest.Seconds()
	readers := significant(math.Sqrt(2 * partitionReads * rest * readUnit / float64(row)))
	b.WriteString("\n" + benchmark.Wrap(fmt.Sprintf("Looks reach a limit earlier than heartbeats, because each reads all rows ahead, of about %s bytes. If n waiters of separate processes look each %g s, which is as seldom as they do without hints, they read n²/2 rows in that time. The %s read units a second of a partition suffice for at most about %s waiters (computed).",
		whole(significant(float64(row))), rest, whole(partitionReads), whole(readers)), "", "") + "\n")
	return b.String()
}

// figure returns a number that a page quotes.
func figure(t *testing.T, page, pattern string, group int) float64 {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(read(t, page))
	if found == nil {
		t.Fatalf("%s has no %q", page, pattern)
	}
	v := locktest.Must(strconv.ParseFloat(found[group], 64))
	return v
}

// of returns the tally of a line of the first table.
func (c *costs) of(t *testing.T, what string) queuelocktest.Tally {
	t.Helper()
	tally, found := c.tallies[what]
	if !found {
		t.Fatalf("%q was not measured", what)
	}
	return tally
}

func units(t queuelocktest.Tally) capacity.Count {
	return capacity.Count{Requests: t.Sent, WriteUnits: t.WriteUnits, ReadUnits: t.ReadUnits}
}

// hour returns what the holder of a lock and the next in line spend in an hour, acquiring
// and releasing included.
func hour(t *testing.T) (holder, waiter capacity.Count) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		a, dbA := locktest.OpenMet(t, table, "a", queuelock.Config{})
		b, dbB := locktest.OpenMet(t, table, "b", queuelock.Config{})
		beforeA, beforeB := dbA.Counts(), dbB.Counts()
		jitter := random.Seed(t.Context(), 1, 2) // the same each time
		held := locktest.Must(a.Acquire(jitter, order, waitpolicy.Forever))
		waiting := queueUp(random.Fork(jitter), b)
		time.Sleep(time.Hour)
		release(t, held)
		release(t, (<-waiting).must(t))
		time.Sleep(time.Second) // for requests in the background
		holder, waiter = units(dbA.Counts().Sub(beforeA).Total()), units(dbB.Counts().Sub(beforeB).Total())
	})
	return holder, waiter
}

// deep returns what a client spends that waits for an hour, without the last eight minutes, behind turns of ten
// minutes of a holder and five other waiters, in a queue that has had such turns before.
func deep(t *testing.T, cfg queuelock.Config) (spent capacity.Count) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		jitter := random.Seed(t.Context(), 1, 2) // the same each time
		turn := func(c *queuelock.Client, ctx context.Context) {
			lock := locktest.Must(c.Acquire(ctx, order, waitpolicy.Forever))
			time.Sleep(10 * time.Minute)
			release(t, lock)
		}
		var turns sync.WaitGroup
		for i := range 8 {
			c, _ := locktest.OpenMet(t, table, fmt.Sprint("turn-", i), cfg)
			ctx := random.Fork(jitter)
			if i < 2 {
				turn(c, ctx)
				continue
			}
			turns.Go(func() { turn(c, ctx) })
			time.Sleep(time.Second)
		}
		last, network := locktest.OpenMet(t, table, "last", cfg)
		before := network.Counts()
		turns.Go(func() { turn(last, random.Fork(jitter)) })
		time.Sleep(52 * time.Minute)
		spent = units(network.Counts().Sub(before).Total())
		turns.Wait()
	})
	return spent
}

// sizes returns the sizes of the item that an entity leaves after its first turn, and of a waiter's row.
func sizes(t *testing.T) (record, row int64) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))) // tickets begin at the time
		table := newTable(t)
		a, network := locktest.OpenMet(t, table, "a", queuelock.Config{Owner: "worker-1:12345"})
		size := func() int64 {
			name := table.Name()
			out := locktest.Must(network.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}))
			return *out.Table.TableSizeBytes
		}
		lock := acquire(t, a, order, waitpolicy.Forever)
		release(t, lock)
		record = size()
		lock = acquire(t, a, order, waitpolicy.Forever)
		held := size()
		waiting := queueUp(t.Context(), a)
		time.Sleep(time.Second)
		row = size() - held
		release(t, lock)
		release(t, (<-waiting).must(t))
	})
	return record, row
}

// whole prints a whole number.
func whole(v float64) string { return benchmark.Decimal(v, 0) }

// about returns the units with two digits that count: jitter changes the others.
func about(c capacity.Count) capacity.Count {
	return capacity.Count{Requests: c.Requests, WriteUnits: significant(c.WriteUnits), ReadUnits: significant(c.ReadUnits)}
}

// dollars prints a price in cents, and one below a dollar with two digits that count.
func dollars(v float64) string {
	decimals := 2
	for limit := 0.1; 0 < v && v < limit && decimals < 8; limit /= 10 {
		decimals++
	}
	return "$" + benchmark.Decimal(v, decimals)
}

func significant(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow10(int(math.Floor(math.Log10(v))) - 1)
	return math.Round(v/unit) * unit
}

// TestRounding checks how numbers are printed.
func TestRounding(t *testing.T) {
	for v, want := range map[float64]string{0: "$0.00", 3.24: "$3.24", 0.000821: "$0.00082", 0.05: "$0.050", 0.3: "$0.30", 12.6: "$12.60"} {
		if got := dollars(v); got != want {
			t.Errorf("%v is printed %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 7: "7", 129: "130", 4035: "4,000", 5184000: "5,200,000"} {
		if got := whole(significant(v)); got != want {
			t.Errorf("%v is printed %s, want %s", v, got, want)
		}
	}
}
