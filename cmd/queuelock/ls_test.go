package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestLs checks that ls lists the queues of the table, and states its cost first.
func TestLs(t *testing.T) {
	e := newEngine(t)
	invoke(t, "ls").matches(t, 0, "", "queuelock: 0 queues; ")
	c := e.client(t)
	hold := func(key queuelock.Key, opts ...queuelock.AcquireOption) *queuelock.Lock {
		return locktest.Must(c.Acquire(t.Context(), key, waitpolicy.NoWait, opts...))
	}
	hold(queuelock.Key{Entity: "deploy/prod"})
	hold(queuelock.Key{Entity: "deploy/prod", Reason: "report"}, queuelock.Shared())
	hold(queuelock.Key{Entity: "deploy/prod", Reason: "report"}, queuelock.Shared())
	hold(queuelock.Key{Entity: "upload"}, queuelock.Permits(3))
	locktest.OK(t, hold(queuelock.Key{Entity: "idle"}).Release(t.Context()))
	queued := e.puts()
	waiter := start(t, t.Context(), "run", "deploy/prod", "--", "true")
	<-queued

	const age = `(\?|<1s|\d+(\.\d)?s)`
	o := invoke(t, "ls")
	o.matches(t, 0, `^ENTITY +REASON +MODE +HOLDER +HELD FOR +WAITING +LONGEST WAIT\n`+
		`deploy/prod +lock +exclusive +other owner +`+age+` +1 +`+age+`\n`+
		`deploy/prod +report +shared +other owner \+1 [^\n]*\n`+
		`idle +lock +exclusive +- +- +0 +-\n`+
		`upload +lock +1 of 3 +other owner [^\n]*\n$`,
		`^queuelock: a scan of 5 items \([^\n]* read unit[^\n]*, at most 100 a second[^\n]*\nqueuelock: 4 queues; [^\n]*\n$`)
	if strings.Contains(o.stderr, "hours ago") {
		t.Errorf("a local engine counts at once: %q", o.stderr)
	}

	invoke(t, "ls", "deploy/", "--busy", "-q").matches(t, 0, `^([^\n]*\n){3}$`, "")
	if o := invoke(t, "ls", "--busy"); strings.Contains(o.stdout, "idle") || strings.Count(o.stdout, "\n") != 4 {
		t.Errorf("busy queues: %+v", o)
	}
	o = invoke(t, "ls", "-o", "json", "--max-rcu", "0")
	var first display.Line
	if err := json.Unmarshal([]byte(strings.SplitAfter(o.stdout, "\n")[0]), &first); err != nil || strings.Count(o.stdout, "\n") != 4 {
		t.Fatalf("%v: %+v", err, o)
	}
	if first.Entity != "deploy/prod" || first.Reason != "lock" || first.State != "held" || first.Waiting != 1 || *first.Holder != "other owner" || *first.Ticket != "1" {
		t.Errorf("%s", o.stdout)
	}
	invoke(t, "ls", "--units").matches(t, 0, "WRITES/H  READS/H",
		`queuelock: about [^\n]* write units and 4,000 read units an hour, if all stays as it is\n`)
	if o := invoke(t, "ls", "-o", "yaml"); strings.Count(o.stdout, "\n---\n") != 3 || strings.HasPrefix(o.stdout, "---") {
		t.Errorf("%+v", o)
	}
	locktest.OK(t, c.Close(t.Context()))
	waiter.wait(t)
}

// TestLsExpired checks that ls marks holders and waiters whose leases are over.
func TestLsExpired(t *testing.T) {
	e := newEngine(t)
	e.crashed(t, "x")
	o := invoke(t, "ls", "-q")
	if line := strings.Join(strings.Fields(o.stdout), " "); !strings.Contains(line, "other owner (lease over)") || !strings.Contains(line, " 1 (lease over) ") {
		t.Errorf("%+v", o)
	}
	if line := object[display.Line](t, invoke(t, "ls", "-q", "-o", "json")); !line.Expired || line.Waiting != 1 || line.ExpiredWaiting != 1 {
		t.Errorf("%+v", line)
	}
}

// TestLsOtherItems checks what ls shows of an unreadable record and of an item's lock.
func TestLsOtherItems(t *testing.T) {
	e := newEngine(t)
	e.put(t, queuelock.Key{Entity: "broken\n", Reason: "lock"}, 0, map[string]types.AttributeValue{})
	invoke(t, "ls", "-q").shows(t, 0, `"broken\n"  lock    ?     unreadable: malformed`)
	var out strings.Builder
	line := display.NewLine(&queue.State{Entity: `item "orders" "lock_" "id" S:"7"`, Reason: "item", Waiting: []queue.Waiter{{Remaining: time.Second}}}, nil)
	if err := display.Lines(&out, []display.Line{line}, false, false); err != nil || !strings.Contains(out.String(), `item "orders" {id S:"7"}  item    item  in the item  ?         1        <1s`) {
		t.Errorf("%q", out.String())
	}
}

func TestLsCost(t *testing.T) {
	o := &opened{table: &types.TableDescription{ItemCount: aws.Int64(12000), TableSizeBytes: aws.Int64(3_400_000)}}
	for rate, want := range map[float64]string{
		0:   "a scan of 12000 items (3.24 MB, as DynamoDB counted some hours ago): about 831 read units, with no bound",
		100: "a scan of 12000 items (3.24 MB, as DynamoDB counted some hours ago): about 831 read units, at most 100 a second, 8s",
	} {
		if got := o.cost(rate); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	o.local = true // where the sizes are those of now
	if got := o.cost(0); !strings.HasPrefix(got, "a scan of 12000 items (3.24 MB): about ") {
		t.Error(got)
	}
	if got := (&opened{}).cost(5); !strings.Contains(got, "not known") {
		t.Error(got)
	}
}

// TestOtherKeys checks that commands that scan refuse a table with other keys, and read no page of it. With a right to Scan
// alone, the first page proves it.
func TestOtherKeys(t *testing.T) {
	e := newEngine(t)
	for _, empty := range []bool{true, false} {
		for _, described := range []bool{true, false} {
			if empty && !described {
				continue // nothing shows the keys
			}
			var scans atomic.Int32
			deny := func(w http.ResponseWriter, r *http.Request) bool {
				_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
				if operation == "Scan" {
					scans.Add(1)
				}
				denied := operation == "DescribeTable" && !described
				if denied {
					refuses(w, "AccessDeniedException")
				}
				return denied
			}
			e.instead.Store(&deny)
			for _, args := range []string{"ls", "ls deploy", "top --once", "sweep --all"} {
				args := append(strings.Fields(args), "--partition-key", "key", "--sort-key", "range")
				o := invoke(t, args...)
				o.ends(t, exitUnavailable, `table "queuelock" has `, `needed is partition key "key" (S) and sort key "range" (S)`)
				if described != (scans.Load() == 0) {
					t.Errorf("%v: %d scans", args, scans.Load())
				}
			}
		}
		if empty {
			e.instead.Store(nil)
			e.occupied(t, "deploy")
		}
	}
}
