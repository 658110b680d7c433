package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
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

// TestWorker checks that a worker writes its turns, that a write after a release is refused, and that
// it leaves nothing in the table.
func TestWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		db := table.Client("worker")
		in, inWrite := io.Pipe()
		outRead, out := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- Work(t.Context(), db, in, out)
			out.Close()
		}()
		locktest.OK(t, json.NewEncoder(inWrite).Encode(Assignment{
			Name: "worker-1", Table: table.Name(), Entities: []string{"e"}, Seed: 1, TTL: 2 * time.Second, WaiterTTL: 2 * time.Second,
			LongestTurn: 100 * time.Millisecond, Callers: 1,
		}))
		var granted, last turns.Record
		applied, late := 0, 0
		for lines := bufio.NewScanner(outRead); lines.Scan(); {
			var r turns.Record
			locktest.OK(t, json.Unmarshal(lines.Bytes(), &r))
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
			if last = r; applied >= 5 && late > 0 {
				inWrite.Close()
			}
		}
		if err := <-ended; err != nil || last.Kind != turns.Done {
			t.Errorf("the last record is %+v: %v", last, err)
		}
		head, err := ledger.Ledger{Table: table.Name(), Entity: "e"}.Read(t.Context(), db)
		if err != nil || head.N != applied || head.Writes != applied {
			t.Errorf("%+v, %v after %d writes", head, err, applied)
		}
		client := locktest.Must(queuelock.New(db, table.Name(), queuelock.Config{}))
		state, err := client.Viewer().Inspect(t.Context(), queuelock.Key{Entity: "e"})
		if err != nil || len(state.Serving)+len(state.Waiting) > 0 {
			t.Errorf("%+v, %v", state, err)
		}
	})
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
