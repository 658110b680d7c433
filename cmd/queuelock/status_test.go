package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/ticket"
)

func TestStatusTellsWhoIsServedAndWhoWaits(t *testing.T) {
	e := newEngine(t)
	if o := invoke(t, "status", "x"); o.code != 0 || o.stdout != "\"x\" (lock): never used\n" {
		t.Errorf("before: exit code %d, stdout %q", o.code, o.stdout)
	}
	lock := e.occupied(t, "x")
	queued := make(chan struct{}, 8)
	e.after = func(operation string) {
		if operation == "PutItem" {
			queued <- struct{}{}
		}
	}
	b := start(t, t.Context(), "run", "x", "--wait", "forever", "--", "true")
	<-queued

	o := invoke(t, "status", "x")
	for _, part := range []string{`"x" (lock): 1 served, 1 waiting`, "somebody else", "LEASE LEFT"} {
		if o.code != 0 || !strings.Contains(o.stdout, part) {
			t.Errorf("exit code %d, stdout %q does not have %q", o.code, o.stdout, part)
		}
	}
	o = invoke(t, "status", "x", "--json")
	var report statusReport
	if err := json.Unmarshal([]byte(o.stdout), &report); err != nil {
		t.Fatalf("%v: %q", err, o.stdout)
	}
	if len(report.Serving) != 1 || report.Serving[0].Owner != "somebody else" || report.Serving[0].Ticket != "1" ||
		len(report.Waiting) != 1 || report.Waiting[0].Ticket != "2" || report.Waiting[0].Position != 1 || report.Issued != "2" {
		t.Errorf("report %s", o.stdout)
	}

	if err := lock.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := b.wait(t); o.code != 0 {
		t.Fatalf("exit code %d, stderr %q", o.code, o.stderr)
	}
	if o := invoke(t, "status", "x"); o.stdout != "\"x\" (lock): idle; the last ticket was 2\n" {
		t.Errorf("after: stdout %q", o.stdout)
	}
}

func TestStatusJSONHasStableNames(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.FixedZone("", 3600))
	state := &queuelock.State{
		Key: queuelock.Key{Entity: "x", Reason: "why"}, Issued: ticket.Max, ReadAt: at,
		Serving: []queuelock.Holder{
			{Ticket: ticket.FromUint64(7), Owner: "a", Since: at.Add(-1500 * time.Millisecond), Age: 1512 * time.Millisecond, Remaining: 29987 * time.Millisecond, TTL: time.Minute, Delay: 1500 * time.Millisecond, Data: []byte("step 2\n")},
			{Ticket: ticket.FromUint64(8), Owner: "b", TTL: time.Minute, Data: []byte("\xff\xfe")},
			{Ticket: ticket.FromUint64(9), Owner: "d", FailClosed: true, Remaining: math.MaxInt64},
		},
		Waiting: []queuelock.Waiter{
			{Position: 1, Ticket: ticket.FromUint64(9), Owner: "c", Age: time.Second, Remaining: time.Second, TTL: 15 * time.Second},
			{Position: 2, Ticket: ticket.FromUint64(10), Problem: fmt.Errorf("not a row")},
		},
		Turn: queuelock.Turn{Mean: 250 * time.Millisecond, Deviation: time.Millisecond},
	}
	got, err := json.MarshalIndent(newStatusReport(state), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "entity": "x",
  "reason": "why",
  "issued": "99999999999999999999999999999999999999",
  "read_at": "2026-03-01T11:00:00.5Z",
  "serving": [
    {
      "ticket": "7",
      "owner": "a",
      "since": "2026-03-01T10:59:59Z",
      "age_seconds": 1.5,
      "remaining_seconds": 30,
      "ttl_seconds": 60,
      "delay_seconds": 1.5,
      "fail_closed": false,
      "expired": false,
      "data": "step 2\n",
      "data_base64": "c3RlcCAyCg=="
    },
    {
      "ticket": "8",
      "owner": "b",
      "since": null,
      "age_seconds": null,
      "remaining_seconds": 0,
      "ttl_seconds": 60,
      "delay_seconds": 0,
      "fail_closed": false,
      "expired": true,
      "data": null,
      "data_base64": "//4="
    },
    {
      "ticket": "9",
      "owner": "d",
      "since": null,
      "age_seconds": null,
      "remaining_seconds": null,
      "ttl_seconds": null,
      "delay_seconds": null,
      "fail_closed": true,
      "expired": false,
      "data": null,
      "data_base64": null
    }
  ],
  "waiting": [
    {
      "position": 1,
      "ticket": "9",
      "owner": "c",
      "age_seconds": 1,
      "remaining_seconds": 1,
      "ttl_seconds": 15,
      "expired": false,
      "problem": null
    },
    {
      "position": 2,
      "ticket": "10",
      "owner": "",
      "age_seconds": 0,
      "remaining_seconds": 0,
      "ttl_seconds": 0,
      "expired": true,
      "problem": "not a row"
    }
  ],
  "turn": {
    "mean_seconds": 0.25,
    "deviation_seconds": 0.001
  }
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	empty, err := json.Marshal(newStatusReport(&queuelock.State{}))
	if err != nil || !strings.Contains(string(empty), `"serving":[],"waiting":[]`) {
		t.Errorf("nobody is not an empty list: %s, %v", empty, err)
	}
}

func TestStatusShowsTheDataOfAHolder(t *testing.T) {
	e := newEngine(t)
	lock := e.occupied(t, "x")
	if o := invoke(t, "status", "x"); o.code != 0 || strings.Contains(o.stdout, "data") {
		t.Errorf("without data: exit code %d, stdout %q", o.code, o.stdout)
	}
	for _, test := range []struct{ data, printed, asJSON string }{
		{"step 2 of 5: \"café\"", "\ndata of 1: step 2 of 5: \"café\"\n", `"data":"step 2 of 5: \"café\"","data_base64":"`},
		{"two\nlines", "\ndata of 1 (base64): dHdvCmxpbmVz\n", `"data":"two\nlines","data_base64":"dHdvCmxpbmVz"`},
		{"\x1b[2J", "\ndata of 1 (base64): G1sySg==\n", `"data_base64":"G1sySg=="`},
		{"\xde\xad\xbe\xef", "\ndata of 1 (base64): 3q2+7w==\n", `"data":null,"data_base64":"3q2+7w=="`},
	} {
		if err := lock.SetData(t.Context(), []byte(test.data)); err != nil {
			t.Fatal(err)
		}
		if o := invoke(t, "status", "x"); o.code != 0 || !strings.HasSuffix(o.stdout, test.printed) {
			t.Errorf("exit code %d, stdout %q, want %q at its end", o.code, o.stdout, test.printed)
		}
		if o := invoke(t, "status", "x", "--json"); o.code != 0 || !strings.Contains(o.stdout, test.asJSON) {
			t.Errorf("exit code %d, stdout %q, want %s", o.code, o.stdout, test.asJSON)
		}
	}
}

func TestStatusShowsAForeignRow(t *testing.T) {
	e := newEngine(t)
	e.occupied(t, "x")
	_, err := e.db.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String("queuelock"),
		Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "x"},
			"sk": &types.AttributeValueMemberS{Value: "lock/" + ticket.FromUint64(5).Padded()},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := invoke(t, "status", "x")
	if o.code != 0 || !strings.Contains(o.stdout, "queue row 5") {
		t.Errorf("exit code %d, stdout %q does not say what is wrong with row 5", o.code, o.stdout)
	}
}
