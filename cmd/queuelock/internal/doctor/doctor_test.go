package doctor_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/doctor"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// subject returns the table as the default settings see it.
func subject(table *queuelocktest.Table) doctor.Subject {
	return doctor.Subject{DB: table.Client("doctor").Client, Table: table.Name(), PartitionKey: "pk", SortKey: "sk", Expiration: "expiresAt"}
}

// check runs f and returns the results by name.
func check(t *testing.T, s doctor.Subject, f func(context.Context, doctor.Subject, func(doctor.Result)) error) map[string]doctor.Result {
	t.Helper()
	results := map[string]doctor.Result{}
	locktest.OK(t, f(t.Context(), s, func(r doctor.Result) { results[r.Name] = r }))
	for name, r := range results {
		if (r.Status == doctor.OK) != (r.Advice == "") || r.Found == "" || strings.Contains(r.String(), "\n") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	return results
}

// are checks that the named checks have these statuses, and all others are right.
func are(t *testing.T, results map[string]doctor.Result, statuses map[string]doctor.Status) {
	t.Helper()
	for name := range statuses {
		if _, ok := results[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}
	for name, r := range results {
		if want := cmp.Or(statuses[name], doctor.OK); r.Status != want {
			t.Errorf("%v, want %s", r, want)
		}
	}
}

// TestCheck plants what can be wrong, and finds that alone.
func TestCheck(t *testing.T) {
	now := func(offset time.Duration) queuelocktest.Option {
		return queuelocktest.WithClock(func() time.Time { return time.Now().Add(offset) })
	}
	type found = map[string]doctor.Status
	for name, test := range map[string]struct {
		opt  queuelocktest.Option
		want found
	}{
		"nothing":         {now(0), nil},
		"no TTL":          {queuelocktest.WithTTLAttribute("other"), found{"ttl": doctor.Warning}},
		"far away":        {queuelocktest.WithLatency(80 * time.Millisecond), found{"round trip": doctor.Warning}},
		"clock behind":    {now(2 * time.Minute), found{"clock": doctor.Failed}},
		"clock ahead":     {now(-2 * time.Minute), found{"clock": doctor.Failed}},
		"clock off a bit": {now(10 * time.Second), nil},
		"no dates":        {queuelocktest.WithoutDate(), found{"dates": doctor.Warning, "clock": doctor.Skipped}},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			are(t, check(t, subject(table), doctor.Check), test.want)
			if len(table.Items()) != 0 {
				t.Errorf("it has written %v", table.Items())
			}
		}, test.opt)
	}
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) { // other keys, with which no request succeeds
		s := subject(table)
		s.SortKey = "range"
		results := map[string]doctor.Result{}
		_ = doctor.Check(t.Context(), s, func(r doctor.Result) { results[r.Name] = r })
		if results["keys"].Status != doctor.Failed {
			t.Errorf("%v", results)
		}
	})
}

// TestThrottling checks that throttled requests are a warning that names the limit, also if the SDK's next attempt is
// answered.
func TestThrottling(t *testing.T) {
	for name, f := range map[string]func(context.Context, doctor.Subject, func(doctor.Result)) error{"Check": doctor.Check, "Deep": doctor.Deep} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			table.Inject(queuelocktest.Throttle(event.Account).Of("GetItem").Times(2))
			results := check(t, subject(table), f)
			are(t, results, map[string]doctor.Status{"throttling": doctor.Warning})
			if found := results["throttling"].Found; !strings.Contains(found, "2 attempts by the limit of the account") {
				t.Errorf("found %q", found)
			}
		})
	}
}

// TestNoTable checks that a missing table is a result, and an engine that does not answer an error.
func TestNoTable(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		results := check(t, subject(table), doctor.Check)
		if len(results) != 2 || results["table"].Status != doctor.Failed || !strings.Contains(results["table"].Advice, "queuelock table create") {
			t.Errorf("%v", results)
		}
		table.Inject(queuelocktest.LoseRequest())
		var host doctor.Result
		if err := doctor.Check(t.Context(), subject(table), func(r doctor.Result) { host = r }); err == nil {
			t.Error("nothing answers, and there is no error")
		}
		if host.Name != "host" || host.Status != doctor.Failed || host.Found != "dynamodb.invalid" {
			t.Errorf("of the host that does not answer: %v", host)
		}
	}, queuelocktest.WithoutTable())
}

// TestRights denies each action in turn.
func TestRights(t *testing.T) {
	for operation, want := range map[string]doctor.Status{
		"GetItem": doctor.Failed, "Query": doctor.Failed, "PutItem": doctor.Failed, "UpdateItem": doctor.Failed, "DeleteItem": doctor.Failed,
		"TransactWriteItems": doctor.Warning, "Scan": doctor.Warning, "DescribeTable": doctor.Warning,
	} {
		locktest.InTable(t, operation, func(t *testing.T, table *queuelocktest.Table) {
			table.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of(operation))
			found := false
			for _, r := range check(t, subject(table), doctor.Check) {
				found = found || r.Status == want && strings.Contains(r.Advice, "queuelock template iam")
			}
			if !found {
				t.Errorf("it is not reported as %s", want)
			}
		})
	}
}

// TestWorker has the rights of a worker alone: docs/production.md says what to expect.
func TestWorker(t *testing.T) {
	page := string(locktest.Must(os.ReadFile("../../../../docs/production.md")))
	if text := "To a worker, `skipped` and the warning of `rights to observe` are expected."; !strings.Contains(page, text) {
		t.Errorf("docs/production.md does not say %q", text)
	}
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		table.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("Scan", "DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups"))
		results := check(t, subject(table), doctor.Check)
		maps.Copy(results, check(t, subject(table), doctor.Deep))
		skipped := 0
		for name, r := range results {
			if r.Status == doctor.Skipped {
				skipped++
				delete(results, name)
			}
		}
		are(t, results, map[string]doctor.Status{"rights to observe": doctor.Warning})
		if skipped == 0 || len(results) < 10 {
			t.Errorf("%d were skipped, and these not: %v", skipped, results)
		}
	}, queuelocktest.WithLatency(time.Millisecond))
}

// TestDeep checks that an engine that is right passes, and that nothing is left.
func TestDeep(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		results := check(t, subject(table), doctor.Deep)
		are(t, results, nil)
		if len(results) != 10 || len(table.Items()) != 0 {
			t.Errorf("%d results, %d items are left", len(results), len(table.Items()))
		}
	}, queuelocktest.WithLatency(time.Millisecond))
}

// TestDeepInterrupted checks that an interrupted run leaves nothing.
func TestDeepInterrupted(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := doctor.Deep(ctx, subject(table), func(r doctor.Result) {
			if r.Name == "queries" {
				cancel()
			}
		})
		if err != nil || len(table.Items()) != 0 {
			t.Errorf("%v, %d items are left", err, len(table.Items()))
		}
	}, queuelocktest.WithLatency(time.Millisecond))
}

// TestDeepFindsWrongEngine plants a mistake into the engine. Each must be found.
func TestDeepFindsWrongEngine(t *testing.T) {
	for name, mistake := range map[string]func(operation string, in map[string]any){
		"conditions": func(operation string, in map[string]any) {
			if operation == "UpdateItem" {
				delete(in, "ConditionExpression")
				if values, ok := in["ExpressionAttributeValues"].(map[string]any); ok && in["UpdateExpression"] == "SET x = :x" {
					delete(values, ":one") // it is not used any more
				}
			}
		},
		"returned items": func(operation string, in map[string]any) { delete(in, "ReturnValues") },
		"refusals":       func(operation string, in map[string]any) { delete(in, "ReturnValuesOnConditionCheckFailure") },
		"queries": func(operation string, in map[string]any) {
			if operation == "Query" {
				in["ScanIndexForward"] = false
			}
		},
		"transactions": func(operation string, in map[string]any) { delete(in, "ClientRequestToken") },
		"transactions: refusals": func(operation string, in map[string]any) {
			items, _ := in["TransactItems"].([]any)
			for _, item := range items {
				if update, ok := item.(map[string]any)["Update"].(map[string]any); ok {
					delete(update, "ReturnValuesOnConditionCheckFailure")
				}
			}
		},
		"fencing": func(operation string, in map[string]any) {
			items, _ := in["TransactItems"].([]any)
			for _, item := range items {
				if _, ok := item.(map[string]any)["ConditionCheck"]; ok && len(items) == 2 {
					in["TransactItems"] = items[1:]
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			check, _, _ := strings.Cut(name, ":")
			engine := embedded.New(embedded.Config{})
			wrong := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
				var in map[string]any
				body, err := io.ReadAll(r.Body)
				if err == nil && json.Unmarshal(body, &in) == nil {
					mistake(operation, in)
					body, _ = json.Marshal(in)
				}
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				engine.ServeHTTP(w, r)
			})
			table := queuelocktest.NewTable(t, queuelocktest.WithEngine(wrong))
			found := map[string]doctor.Result{}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_ = doctor.Deep(ctx, subject(table), func(r doctor.Result) {
				found[r.Name] = r
				if r.Name == check {
					cancel() // what comes after it may wait for ever
				}
			})
			if found[check].Status != doctor.Failed || check == "refusals" && !strings.Contains(found[check].Advice, "since June 2023") {
				t.Errorf("%v", found[check])
			}
		})
	}
}

// TestWorst checks the order of gravity.
func TestWorst(t *testing.T) {
	of := func(all ...doctor.Status) (results []doctor.Result) {
		for _, s := range all {
			results = append(results, doctor.Result{Status: s})
		}
		return results
	}
	for want, all := range map[doctor.Status][]doctor.Result{
		doctor.OK: nil, doctor.Failed: of(doctor.Warning, doctor.Failed, doctor.OK), doctor.Warning: of(doctor.Skipped, doctor.Warning), doctor.Skipped: of(doctor.OK, doctor.Skipped),
	} {
		if got := doctor.Worst(all); got != want {
			t.Errorf("%v: %s, want %s", all, got, want)
		}
	}
}
