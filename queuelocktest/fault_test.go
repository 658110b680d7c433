package queuelocktest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestFaults checks every fault, as one attempt of a client sees it: whether it gets an answer and when, how often its
// write is applied, at once and in the end.
func TestFaults(t *testing.T) {
	const minute, second = time.Minute, time.Second
	for _, test := range []struct {
		fault         queuelocktest.Fault
		err           bool
		answered      time.Duration
		applied, late int
	}{
		{queuelocktest.LoseRequest(), true, 0, 0, 0},
		{queuelocktest.LoseResponse(), true, 0, 1, 1},
		{queuelocktest.DelayRequest(second), false, second, 1, 1},
		{queuelocktest.DelayRequest(2 * minute), true, minute, 0, 0},
		{queuelocktest.DelayRequest(2 * minute).LandingAnyway(), true, minute, 0, 1},
		{queuelocktest.DelayResponse(second), false, second, 1, 1},
		{queuelocktest.DelayResponse(2 * minute), true, minute, 1, 1},
		{queuelocktest.SwallowRequest(), true, minute, 0, 0},
		{queuelocktest.SwallowResponse(), true, minute, 1, 1},
		{queuelocktest.Duplicate(minute), false, 0, 1, 2},
		{queuelocktest.LandLate(minute), true, 0, 0, 1},
		{queuelocktest.Refuse(queuelocktest.Throttling), true, 0, 0, 0},
	} {
		locktest.InTable(t, test.fault.String(), func(t *testing.T, table *queuelocktest.Table) {
			alice := table.Client("alice", once)
			injection := table.Inject(test.fault.Of("UpdateItem").Times(1))
			ctx, cancel := context.WithTimeout(t.Context(), minute)
			defer cancel()
			start := time.Now()
			_, err := alice.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName:                 aws.String(table.Name()),
				Key:                       key("e", "s"),
				UpdateExpression:          aws.String("ADD ticketNumber :one"),
				ExpressionAttributeValues: item{":one": num(1)},
			})
			if (err != nil) != test.err {
				t.Errorf("got error %v, want one: %v", err, test.err)
			}
			if got := time.Since(start); got != test.answered {
				t.Errorf("answered after %v, want %v", got, test.answered)
			}
			if got := counter(table); got != test.applied {
				t.Errorf("applied %d times when answered, want %d", got, test.applied)
			}
			locktest.Check(t, table.Settle(t.Context()))
			if got := counter(table); got != test.late {
				t.Errorf("applied %d times in the end, want %d", got, test.late)
			}
			<-injection.Reached()
			if injection.Fired() != 1 || !strings.Contains(table.Log(), test.fault.String()) {
				t.Errorf("fired %d times, want once and in the log:\n%s", injection.Fired(), table.Log())
			}
			locktest.Must(count(t, alice, "e", "s"))
		})
	}
}

// codeOf is the code of an error of the table, or its text.
func codeOf(err error) string {
	var apiErr smithy.APIError
	if errors.As(err, &apiErr) {
		return apiErr.ErrorCode()
	}
	return fmt.Sprint(err)
}

func TestRefusals(t *testing.T) {
	for _, code := range []queuelocktest.Code{
		queuelocktest.ThroughputExceeded, queuelocktest.Throttling, queuelocktest.RequestLimit,
		queuelocktest.InternalError, queuelocktest.Unavailable,
		queuelocktest.TransactionConflict, queuelocktest.AccessDenied,
	} {
		locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
			alice := table.Client("alice")
			injection := alice.Inject(queuelocktest.Refuse(code))
			err := put(t, alice, "e", "s")
			if got := codeOf(err); got != string(code) {
				t.Errorf("got %v, want %s", err, code)
			}
			attempts := alice.Options().Retryer.MaxAttempts()
			if code == queuelocktest.TransactionConflict || code == queuelocktest.AccessDenied {
				attempts = 1
			}
			if injection.Fired() != attempts {
				t.Errorf("%s: %d attempts, want %d", code, injection.Fired(), attempts)
			}
		})
	}
}

// TestThrottle checks that an error of the SDK names the limit of an injected throttle, and that it is retried.
func TestThrottle(t *testing.T) {
	for limit := event.UnknownLimit; limit <= event.Account; limit++ {
		synctest.Test(t, func(t *testing.T) {
			alice := queuelocktest.NewTable(t).Client("alice")
			injection := alice.Inject(queuelocktest.Throttle(limit))
			_, err := alice.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("queuelock"), Key: key("e", "s")})
			if got := event.LimitOf(err); got != limit || injection.Fired() != alice.Options().Retryer.MaxAttempts() {
				t.Errorf("%v after %d attempts, limit %v, want %v", err, injection.Fired(), got, limit)
			}
			hot, ok := errors.AsType[*types.ThrottlingException](err)
			if limit == event.KeyRange && (!ok || aws.ToString(hot.ThrottlingReasons[0].Reason) != "TableReadKeyRangeThroughputExceeded") {
				t.Errorf("%v has the reasons %v", err, hot)
			}
		})
	}
}

func TestHeldRequestArrivesLate(t *testing.T) {
	for _, anyway := range []bool{false, true} {
		locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
			alice := table.Client("alice")
			fault := queuelocktest.HoldRequest().Of("DeleteItem")
			if anyway {
				fault = fault.LandingAnyway()
			}
			gate := alice.Inject(fault)
			locktest.OK(t, put(t, alice, "e", "s"))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := alice.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(table.Name()), Key: key("e", "s")})
			locktest.Is(t, err, context.DeadlineExceeded)
			gate.Release()
			locktest.Check(t, table.Settle(t.Context()))
			if landed := len(table.Items()) == 0; landed != anyway {
				t.Errorf("landed = %v, want %v", landed, anyway)
			}
		})
	}
}

// TestNarrowedFaults checks which of ten requests a narrowed fault meets. Even ones are PutItem, odd ones UpdateItem; the
// first five are on e0, the others on e1.
func TestNarrowedFaults(t *testing.T) {
	lose := queuelocktest.LoseRequest()
	for _, test := range []struct {
		name  string
		fault queuelocktest.Fault
		want  []int
	}{
		{"all", lose, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"of one operation", lose.Of("PutItem"), []int{0, 2, 4, 6, 8}},
		{"of two", lose.Of("PutItem", "UpdateItem").Times(3), []int{0, 1, 2}},
		{"of another", lose.Of("Query"), nil},
		{"times", lose.Of("UpdateItem").Times(2), []int{1, 3}},
		{"nth", lose.Of("UpdateItem").Nth(3), []int{5}},
		{"first", lose.Nth(1), []int{0}},
		{"after", lose.After(7), []int{7, 8, 9}},
		{"on a partition", lose.On("e1", ""), []int{5, 6, 7, 8, 9}},
		{"on an item", lose.On("e1", "s7"), []int{7}},
		{"on no item", lose.On("e0", "s7"), nil},
		{"mentioning", lose.Mentioning("ADD ticketNumber 1").Times(1), []int{1}},
		{"where", lose.Where(func(r queuelocktest.Request) bool { return r.Items()[0].Sort == "s4" }), []int{4}},
		{"narrowed twice", lose.Of("PutItem").On("e1", ""), []int{6, 8}},
		{"always", lose.WithProbability(1, 1), []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"never", lose.WithProbability(0, 1), nil},
	} {
		locktest.InTable(t, test.name, func(t *testing.T, table *queuelocktest.Table) {
			table.Inject(test.fault)
			if got := tenRequests(t, table); !slices.Equal(got, test.want) {
				t.Errorf("met %v, want %v", got, test.want)
			}
		})
	}
}

// tenRequests returns the numbers of those that failed.
func tenRequests(t *testing.T, table *queuelocktest.Table) []int {
	client := table.Client("alice", once)
	var failed []int
	for i := range 10 {
		var err error
		pk, sk := fmt.Sprintf("e%d", i/5), fmt.Sprintf("s%d", i)
		if i%2 == 0 {
			err = put(t, client, pk, sk)
		} else {
			_, err = count(t, client, pk, sk)
		}
		if err != nil {
			failed = append(failed, i)
		}
	}
	return failed
}

func TestNarrowingCopies(t *testing.T) {
	all := func(queuelocktest.Request) bool { return true }
	puts := queuelocktest.LoseRequest().Where(all).Where(all).Of("PutItem")
	first := puts.On("e0", "")
	second := puts.On("e1", "").Times(1)
	for _, test := range []struct {
		fault queuelocktest.Fault
		want  []int
	}{{puts, []int{0, 2, 4, 6, 8}}, {first, []int{0, 2, 4}}, {second, []int{6}}} {
		locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
			table.Inject(test.fault)
			if got := tenRequests(t, table); !slices.Equal(got, test.want) {
				t.Errorf("met %v, want %v", got, test.want)
			}
		})
	}
}

func TestSeed(t *testing.T) {
	run := func(seed uint64) (met string) {
		locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
			table.Inject(queuelocktest.LoseRequest().WithProbability(0.5, seed))
			for range 10 {
				met += fmt.Sprint(tenRequests(t, table))
			}
		})
		return met
	}
	if first, second := run(1), run(1); first != second {
		t.Errorf("the same seed gave %s and %s", first, second)
	}
	if one, other := run(1), run(2); one == other {
		t.Errorf("two seeds both gave %s", one)
	}
}

func TestFirstMatchingFault(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		alice, bob := table.Client("alice", once), table.Client("bob", once)
		shared := table.Inject(queuelocktest.Refuse("First"))
		unseen := table.Inject(queuelocktest.Refuse("Second").Times(1))
		own := alice.Inject(queuelocktest.Refuse("Own").Times(1))
		for i, step := range []struct {
			client *queuelocktest.Client
			want   string
		}{{bob, "First"}, {alice, "Own"}, {alice, "First"}} {
			if got := codeOf(put(t, step.client, "e", "s")); got != step.want {
				t.Errorf("request %d: %s, want %s", i, got, step.want)
			}
		}
		if own.Fired() != 1 || shared.Fired() != 2 || unseen.Fired() != 0 {
			t.Errorf("fired %d, %d and %d times", own.Fired(), shared.Fired(), unseen.Fired())
		}
		shared.Remove()
		if got := codeOf(put(t, bob, "e", "s")); got != "Second" {
			t.Errorf("after removing the first: %s, want Second", got)
		}
		locktest.Check(t, put(t, bob, "e", "s"))
	})
}

// TestRetries checks that the retries of one call are distinguishable.
func TestRetries(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		alice := table.Client("alice")
		table.Inject(queuelocktest.LoseRequest().Where(func(r queuelocktest.Request) bool { return r.Attempt < 3 }))
		locktest.Check(t, put(t, alice, "e", "s"))
		if got := table.Counts()["PutItem"]; got.Sent != 3 || got.Applied != 1 {
			t.Errorf("counted %+v, want 3 sent and 1 applied", got)
		}
	})
}
