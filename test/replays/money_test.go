package replays_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

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
	b.WriteString("\n" + benchmark.Wrap(fmt.Sprintf("On demand, in %s since %s, a million write units cost $%g, a million read units $%g, and a GB for a month $%g.",
		capacity.PriceRegion, capacity.PriceSince, capacity.PriceWriteUnits, capacity.PriceReadUnits, capacity.PriceStorage), "", "") + "\n")
	b.WriteString("| what | write units | read units | price |\n|---|---|---|---|\n")
	cycle := plus(c.of(t, "acquire an idle lock"), c.of(t, "release it, no waiter"), 1)
	spend := func(what string, units capacity.Count) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", what, whole(units.WriteUnits), whole(units.ReadUnits), dollars(units.Price()))
	}
	const million = 1_000_000
	spend("a million turns without waiters", units(cycle).Times(million))
	for _, q := range queues {
		write, read := turns(t, q.hold, q.hub)
		if !near(write, q.write) || !near(read, q.read) {
			t.Errorf("%s: %.1f write and %.1f read units, the page has %v and %v", q.what, write, read, q.write, q.read)
		}
		spend(q.what, capacity.Count{WriteUnits: million * q.write, ReadUnits: million * q.read})
	}
	holder, waiter := hour(t)
	spend("a lock held for an hour", about(holder))
	spend("the next in line for an hour", about(waiter))
	record, row := sizes(t)
	size := record + capacity.ItemOverhead
	fmt.Fprintf(&b, "| a million idle entities for a month, %d bytes each | 0 | 0 | %s |\n", size, dollars(float64(million*size)/(1<<30)*capacity.PriceStorage))

	b.WriteString("\n| all queues of an entity | write units | in a second |\n|---|---|---|\n")
	sustained := func(what string, spent queuelocktest.Tally) {
		fmt.Fprintf(&b, "| %s | %g | %s |\n", what, spent.WriteUnits, whole(math.Floor(partitionUnits/spent.WriteUnits)))
	}
	sustained("turns without waiters", cycle)
	sustained("turns with several waiters", c.of(t, "a turn in a longer queue, without looks"))
	sustained("refused attempts with `NoWait`", c.of(t, "`NoWait` on a busy lock"))
	waiters := benchmark.TwoDigits(partitionUnits * time.Hour.Seconds() / about(waiter).WriteUnits)
	sustained("heartbeats of "+whole(waiters)+" waiters", c.of(t, "one heartbeat"))
	// A second of n waiters has n/15 looks, each of the n/2 rows ahead on average.
	rest := waitpolicy.Default.Slowest.Seconds()
	readers := benchmark.TwoDigits(math.Sqrt(2 * partitionReads * rest * readUnit / float64(row)))
	b.WriteString("\n" + benchmark.Wrap(fmt.Sprintf("Looks reach a limit first, as each reads all rows ahead, of about %s bytes. At a look each %g s, %s read units a second suffice for about %s waiters of separate processes (computed).",
		whole(benchmark.TwoDigits(float64(row))), rest, whole(partitionReads), whole(readers)), "", "") + "\n")
	return b.String()
}

// queues are the units of a turn in which eight clients take turns at one lock. Round trips take as long as in the benchmarks
// of the tests, and what differs from run to run is less than a tenth.
var queues = []struct {
	what        string
	hold        time.Duration
	hub         *bells.Hub
	write, read float64
}{
	{"a million turns of 50 ms, seven waiting", 50 * time.Millisecond, nil, 4, 9.6},
	{"a million turns of 1 s, seven waiting", time.Second, nil, 4.9, 16.8},
	{"the same, with [bells](configuration.md#bells)", time.Second, new(bells.Hub), 4.9, 4.4},
}

func near(got, want float64) bool { return math.Abs(got-want) < want/10 }

// turns returns what a turn of eight clients costs, when they have learned how long turns are.
func turns(t *testing.T, hold time.Duration, hub *bells.Hub) (write, read float64) {
	const clients, each, warm = 8, 12, 16
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4600*time.Microsecond))
		var loops sync.WaitGroup
		var mu sync.Mutex
		before, grants := table.Counts(), 0
		for i := range clients {
			var cfg queuelock.Config
			if hub != nil {
				cfg.Wake = hub.Client(fmt.Sprint(i))
			}
			c, _ := locktest.OpenMet(t, table, fmt.Sprint(i), cfg)
			loops.Go(func() {
				for range each {
					lock := locktest.Acquire(t, c, waitpolicy.Forever)
					mu.Lock()
					if grants++; grants == warm {
						before = table.Counts()
					}
					mu.Unlock()
					time.Sleep(hold)
					locktest.Release(t, lock)
				}
			})
		}
		loops.Wait()
		spent := table.Counts().Sub(before).Total()
		write, read = spent.WriteUnits/(clients*each-warm), spent.ReadUnits/(clients*each-warm)
	})
	return write, read
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

// hour returns what the holder of a lock and the next in line spend in an hour, acquiring and releasing included.
func hour(t *testing.T) (holder, waiter capacity.Count) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		a, dbA := locktest.OpenMet(t, table, "a", queuelock.Config{})
		b, dbB := locktest.OpenMet(t, table, "b", queuelock.Config{})
		beforeA, beforeB := dbA.Counts(), dbB.Counts()
		jitter := random.Seed(t.Context(), 1, 2) // the same each time
		held := locktest.Must(a.Acquire(jitter, locktest.Order, waitpolicy.Forever))
		waiting := locktest.QueueUp(random.Fork(jitter), b, waitpolicy.Forever)
		time.Sleep(time.Hour)
		locktest.Release(t, held)
		locktest.Release(t, locktest.Lock(t, <-waiting))
		time.Sleep(time.Second) // for requests in the background
		holder, waiter = units(dbA.Counts().Sub(beforeA).Total()), units(dbB.Counts().Sub(beforeB).Total())
	})
	return holder, waiter
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
		lock := locktest.Acquire(t, a, waitpolicy.Forever)
		locktest.Release(t, lock)
		record = size()
		lock = locktest.Acquire(t, a, waitpolicy.Forever)
		held := size()
		waiting := locktest.QueueUp(t.Context(), a, waitpolicy.Forever)
		time.Sleep(time.Second)
		row = size() - held
		locktest.Release(t, lock)
		locktest.Release(t, locktest.Lock(t, <-waiting))
	})
	return record, row
}

// whole prints a whole number.
func whole(v float64) string { return benchmark.Decimal(v, 0) }

// about returns the units with two digits that count: jitter changes the others.
func about(c capacity.Count) capacity.Count {
	return capacity.Count{Requests: c.Requests, WriteUnits: benchmark.TwoDigits(c.WriteUnits), ReadUnits: benchmark.TwoDigits(c.ReadUnits)}
}

// dollars prints a price in cents, and one below a dollar with two digits that count.
func dollars(v float64) string {
	decimals := 2
	for limit := 0.1; 0 < v && v < limit && decimals < 8; limit /= 10 {
		decimals++
	}
	return "$" + benchmark.Decimal(v, decimals)
}
