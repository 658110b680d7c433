package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"go.uber.org/goleak"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/workload/turns"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/test/chaos/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a worker that runs in a bubble.
type running struct {
	t       *testing.T
	in      *io.PipeWriter
	records *bufio.Scanner
	ended   chan error
}

func start(t *testing.T, ctx context.Context, db DynamoDB, a Assignment) *running {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	r := &running{t: t, in: inWrite, records: bufio.NewScanner(outRead), ended: make(chan error, 1)}
	go func() {
		r.ended <- Work(ctx, db, inRead, outWrite)
		outWrite.Close()
	}()
	line := locktest.Must(json.Marshal(a))
	locktest.Must(inWrite.Write(append(line, '\n')))
	return r
}

// next is the next record; false: there is none.
func (r *running) next() (turns.Record, bool) {
	r.t.Helper()
	if !r.records.Scan() {
		return turns.Record{}, false
	}
	var record turns.Record
	if err := json.Unmarshal(r.records.Bytes(), &record); err != nil {
		r.t.Fatal(err)
	}
	return record, true
}

// until is the next record of that kind.
func (r *running) until(kind turns.Kind) turns.Record {
	r.t.Helper()
	for {
		record, ok := r.next()
		if !ok {
			r.t.Fatalf("no %s", kind)
		}
		if record.Kind == kind {
			return record
		}
	}
}

// end has the worker end, and returns what it still reports.
func (r *running) end() (rest []turns.Record) {
	r.t.Helper()
	r.in.Close()
	for {
		record, ok := r.next()
		if !ok {
			break
		}
		rest = append(rest, record)
	}
	if err := <-r.ended; err != nil {
		r.t.Error(err)
	}
	return rest
}

func assignment(table string, longest time.Duration) Assignment {
	return Assignment{
		Name: "worker-1", Table: table, Entities: []string{"e"}, Seed: 1, TTL: 2 * time.Second, WaiterTTL: 2 * time.Second, LongestTurn: longest, Callers: 1,
	}
}

// TestWorker checks that a worker writes its turns, that a write after a release is refused, and that
// it leaves nothing in the table.
func TestWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		db := table.Client("worker")
		w := start(t, t.Context(), db, assignment(table.Name(), 100*time.Millisecond))
		var granted turns.Record
		applied, late := 0, 0
		add := func(r turns.Record) {
			switch {
			case r.Kind == turns.Granted:
				granted = r
			case r.Kind == turns.Ended && (granted.Believed == 0 || r.Believed == 0 || r.Doubted != 0 || r.Ticket != granted.Ticket):
				t.Errorf("%+v, %+v", granted, r)
			case r.Kind != turns.Wrote:
			case r.Write.Outcome == turns.Applied && !r.Write.Late && !r.Write.Stale && r.Ticket == granted.Ticket:
				applied++
			case r.Write.Outcome == turns.Refused && r.Write.Late:
				late++
			default:
				t.Errorf("%+v, %+v", granted, r)
			}
		}
		for applied < 5 || late == 0 {
			r, _ := w.next()
			add(r)
		}
		rest := w.end()
		for _, r := range rest {
			add(r)
		}
		if last := rest[len(rest)-1]; last.Kind != turns.Done {
			t.Errorf("the last record is %+v", last)
		}
		head, err := ledger.Ledger{Table: table.Name(), Entity: "e"}.Read(t.Context(), db)
		if err != nil || head.N != applied || head.Writes != applied {
			t.Errorf("%+v, %v after %d writes", head, err, applied)
		}
		client, err := queuelock.New(db, table.Name(), queuelock.Config{})
		if err != nil {
			t.Fatal(err)
		}
		state, err := client.Viewer().Inspect(t.Context(), queuelock.Key{Entity: "e"})
		if err != nil || len(state.Serving)+len(state.Waiting) > 0 {
			t.Errorf("%+v, %v", state, err)
		}
	})
}

// TestBlocks checks that the callers of a worker wait in blocks, that each turn has a ticket
// of its own, and that the fence refuses a write of a turn in a later turn of its block. The
// planted mistake makes it.
func TestBlocks(t *testing.T) {
	for _, mistake := range []Mistake{"", Late} {
		t.Run(string(mistake), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				a := assignment(table.Name(), 100*time.Millisecond)
				a.Callers, a.Mistake = 4, mistake
				w := start(t, t.Context(), table.Client("worker"), a)
				track, followed, late := turns.NewTrack("worker-1", a.WaiterTTL), 0, map[turns.Outcome]int{}
				add := func(r turns.Record) {
					track.Add(r)
					if r.Followed {
						followed++
					}
					if r.Kind == turns.Wrote && r.Write.Late {
						late[r.Write.Outcome]++
					}
				}
				for range 500 {
					r, _ := w.next()
					add(r)
				}
				for _, r := range w.end() {
					add(r)
				}
				var all []turns.Turn
				for _, turn := range track.Turns {
					all = append(all, *turn)
				}
				if v := turns.Judge(all); len(v.Problems) > 0 || v.Unfinished > 0 || v.Grants < 20 || followed < v.Grants/4 {
					t.Errorf("%d of %d turns were followed, %d are unfinished: %q", followed, v.Grants, v.Unfinished, v.Problems)
				}
				want := turns.Refused
				if mistake == Late {
					want = turns.Applied
				}
				if late[want] == 0 || len(late) > 1 {
					t.Errorf("late writes: %v, want all %s", late, want)
				}
			})
		})
	}
}

// rob takes the lock away from its holder.
func rob(t *testing.T, db DynamoDB, table string) {
	t.Helper()
	locktest.Must(db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &table, UpdateExpression: aws.String("SET holders = :none"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":none": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}},
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "e"}, "sk": &types.AttributeValueMemberS{Value: "lock/" + strings.Repeat("0", 38)},
		},
	}))
}

// TestEvictedWorker checks that a worker that is evicted tries its write, and the fence
// refuses it.
func TestEvictedWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		w := start(t, t.Context(), table.Client("worker"), assignment(table.Name(), time.Minute))
		w.until(turns.Granted)
		rob(t, table.Client("robber"), table.Name())
		wrote, ended := w.until(turns.Wrote), w.until(turns.Ended)
		if !wrote.Write.Stale || wrote.Write.Probe || wrote.Write.Outcome != turns.Refused || wrote.Odd {
			t.Errorf("%+v, %+v", wrote, wrote.Write)
		}
		if ended.Doubted == 0 || ended.Doubted < ended.Believed || !strings.Contains(ended.Error, queuelock.ErrLost.Error()) {
			t.Errorf("%+v", ended)
		}
		w.end()
	})
}

// TestUnfencedWorker checks that an unfenced worker writes even after it has lost its
// lock.
func TestUnfencedWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a := assignment(table.Name(), time.Minute)
		a.Mistake = Unfenced
		w := start(t, t.Context(), table.Client("worker"), a)
		w.until(turns.Granted)
		rob(t, table.Client("robber"), table.Name())
		if wrote := w.until(turns.Wrote); !wrote.Write.Bare || wrote.Write.Outcome != turns.Applied {
			t.Errorf("%+v, %+v", wrote, wrote.Write)
		}
		w.end()
	})
}

// TestWorkerContext checks that a worker ends with its context, also while it waits.
func TestWorkerContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		first := start(t, t.Context(), table.Client("first"), assignment(table.Name(), time.Hour))
		first.until(turns.Granted)
		ctx, cancel := context.WithCancel(t.Context())
		second := start(t, ctx, table.Client("second"), assignment(table.Name(), time.Hour))
		for !second.until(turns.Asked).Waits {
		}
		cancel()
		if rest := second.end(); rest[len(rest)-1].Kind != turns.Done {
			t.Errorf("%+v", rest)
		}
		first.end()
	})
}

// TestWorkerWithoutAssignment checks that a worker without an assignment returns an
// error.
func TestWorkerWithoutAssignment(t *testing.T) {
	var out strings.Builder
	if err := Work(t.Context(), nil, strings.NewReader("nonsense\n"), &out); err == nil || !strings.Contains(out.String(), "read the assignment") {
		t.Errorf("error %v, output %q", err, out.String())
	}
}

// TestOddErrors checks that only errors that no fault explains are reported as odd.
func TestOddErrors(t *testing.T) {
	canceled := func(codes ...string) error {
		e := &types.TransactionCanceledException{}
		for _, code := range codes {
			e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: aws.String(code)})
		}
		return e
	}
	for _, err := range []error{
		&queue.MalformedError{}, &queue.TableError{}, canceled("None", "ValidationError"),
		fmt.Errorf("put: %w", &smithy.GenericAPIError{Code: "ValidationException"}),
	} {
		if !odd(err) {
			t.Errorf("%T %v is not odd", err, err)
		}
	}
	for _, err := range []error{
		context.DeadlineExceeded, &net.OpError{Op: "read", Err: errors.New("reset")}, canceled("None", failedCheck), canceled("TransactionConflict"),
		&smithy.GenericAPIError{Code: "ThrottlingException"}, &types.ProvisionedThroughputExceededException{},
	} {
		if odd(err) {
			t.Errorf("%T %v is odd", err, err)
		}
	}
}
