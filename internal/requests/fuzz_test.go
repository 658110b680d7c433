package requests_test

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
)

// canned answers every request with the same body.
type canned string

func (c canned) Do(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Request: req, Body: io.NopCloser(strings.NewReader(string(c))),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "Date": {"Sat, 01 Jan 2000 00:00:00 GMT"}},
	}, nil
}

func answering(body string) table.Queue {
	db := dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", HTTPClient: canned(body), RetryMaxAttempts: 1,
		Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider("a", "b", "")),
	})
	layout := table.Layout{Table: "t", PK: "pk", SK: "sk", TTL: "expiresAt"}
	return table.NewStore(db, layout, 5*time.Second).Queue("e", "lock", nil)
}

// FuzzGet: an item in DynamoDB's JSON, read by the real SDK client, is a record
// whose parts agree with each other, or a MalformedError that names it in one
// line.
func FuzzGet(f *testing.F) {
	f.Add(`{"ticketNumber":{"N":"1"}}`)
	f.Fuzz(func(t *testing.T, item string) {
		rec, err := requests.Get(t.Context(), answering(`{"Item":`+item+`}`))
		if malformed, ok := errors.AsType[*clause.MalformedError](err); ok {
			if malformed.Attribute == "" || len(malformed.Problem) > 1000 || !strings.Contains(malformed.Item, "e lock") {
				t.Fatalf("%q is no use to anybody", err)
			}
			return
		}
		if _, ok := errors.AsType[*table.Error](err); ok {
			return // the SDK client could not read it
		}
		locktest.OK(t, err)
		switch {
		case !rec.Exists && (rec.Present || len(rec.Holders) > 0 || !rec.TicketNumber.IsZero()):
			t.Fatalf("conjured %+v", rec)
		case rec.TicketNumber.Less(rec.Granted), rec.Present && rec.TicketNumber.Compare(rec.ServingAfter) <= 0, rec.TicketNumber.Less(rec.Floor()):
			t.Fatalf("a record that contradicts itself: %+v", rec)
		case !rec.Present && len(rec.Holders) > 0:
			t.Fatalf("holders that are not there: %+v", rec)
		case rec.HoldTime.Mean < 0 || rec.HoldTime.Deviation < 0 || rec.HoldTime.Mean > queue.MaxLease || rec.HoldTime.Deviation > queue.MaxLease:
			t.Fatalf("a turn of %+v", rec.HoldTime)
		}
		var ids []string
		ordered := slices.IsSortedFunc(rec.Holders, func(a, b queue.Holder) int {
			return cmp.Or(a.Ticket.Compare(b.Ticket), strings.Compare(a.ID, b.ID))
		})
		for _, h := range rec.Holders {
			ids = append(ids, h.ID)
			if h.Lease.TTL <= 0 && !h.Lease.Endless() && !h.Unreadable() || h.Lease.TTL > queue.MaxLease || h.Lease.Delay < 0 || h.Lease.Delay > queue.MaxDelay {
				t.Fatalf("a lease of %v", h.Lease.TTL)
			}
			if mine, ok := rec.Mine(h.ID); !ok || mine.ID != h.ID {
				t.Fatalf("%q is not found", h.ID)
			}
		}
		slices.Sort(ids)
		if !ordered || len(slices.Compact(ids)) != len(rec.Holders) {
			t.Fatalf("holders %q", ids)
		}
	})
}
