package table_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

// throttled makes an answer a throttle that names its reasons, as DynamoDB's do.
func throttled(answer *http.Response, code string, because []string) {
	var reasons []map[string]string
	for _, reason := range because {
		reasons = append(reasons, map[string]string{"reason": reason, "resource": "arn:aws:dynamodb:eu-central-1:1:table/queuelock"})
	}
	list := "ThrottlingReasons"
	if code == "ThrottlingException" {
		list = "throttlingReasons"
	}
	body := locktest.Must(json.Marshal(map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": "slow down", list: reasons}))
	answer.Body, answer.ContentLength, answer.StatusCode = io.NopCloser(bytes.NewReader(body)), int64(len(body)), http.StatusBadRequest
	answer.Header.Del("X-Amz-Crc32")
}

// TestLimit checks that a throttle names the limit that it comes from, the key range before all others.
func TestLimit(t *testing.T) {
	for _, c := range []struct {
		code, want string
		reasons    []string
	}{
		{"ProvisionedThroughputExceededException", "key range", []string{"TableWriteProvisionedThroughputExceeded", "TableWriteKeyRangeThroughputExceeded"}},
		{"ThrottlingException", "key range", []string{"TableReadKeyRangeThroughputExceeded"}},
		{"ThrottlingException", "on demand", []string{"TableWriteMaxOnDemandThroughputExceeded"}},
		{"ProvisionedThroughputExceededException", "provisioned", []string{"TableReadProvisionedThroughputExceeded"}},
		{"RequestLimitExceeded", "account", []string{"TableWriteAccountLimitExceeded"}},
		{"ThrottlingException", "", nil},
		{"ThrottlingException", "", []string{"SomethingNew"}},
	} {
		locktest.InTable(t, c.code+" "+c.want, func(t *testing.T, tb *queuelocktest.Table) {
			q := queueOn(tb.Client("c", pausing(0), changed(func(answer *http.Response) { throttled(answer, c.code, c.reasons) })))
			_, err := q.Get(t.Context(), q.RecordKey())
			if limit := table.Limit(err); (limit == "") != (c.want == "") || !strings.Contains(limit, c.want) || !strings.Contains(err.Error(), limit) {
				t.Errorf("limit %q of %v, want %q", limit, err, c.want)
			}
			if !table.Transient(err) {
				t.Errorf("%v is not transient", err)
			}
		})
	}
}

// TestOnThrottle checks that each throttled attempt of a request is reported once, also without retries of the SDK, and
// no other failure is.
func TestOnThrottle(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  queuelocktest.Fault
		repeat clause.Repeat
		failed bool
		none   bool // is reported
	}{
		{"AnsweredInTheEnd", queuelocktest.Throttle(event.KeyRange).Times(2), clause.Freely, false, false},
		{"NotAnswered", queuelocktest.Throttle(event.KeyRange), clause.Freely, true, false},
		{"WithoutRetries", queuelocktest.Throttle(event.KeyRange), clause.BySender, true, false},
		{"OtherFailure", queuelocktest.Refuse(queuelocktest.InternalError).Times(2), clause.Freely, false, true},
		{"OtherCopyOfTransaction", queuelocktest.Refuse("TransactionInProgressException").Times(2), clause.Freely, false, true},
	} {
		locktest.InTable(t, c.name, func(t *testing.T, tb *queuelocktest.Table) {
			var limits []event.Limit
			q := queueOn(tb.Client("c"))
			q.Store = q.OnThrottle(func(operation string, err error) {
				if operation != "DeleteItem" {
					t.Errorf("operation %s", operation)
				}
				limits = append(limits, event.LimitOf(err))
			})
			fault := tb.Inject(c.fault)
			err := q.Delete(t.Context(), q.RecordKey(), q.Express(clause.Write{Kind: clause.Delete, Repeat: c.repeat}, q.Names()))
			want := fault.Fired() // the SDK's rules decide how many attempts there are
			if c.none {
				want = 0
			}
			if (err != nil) != c.failed || len(limits) != want || fault.Fired() == 0 {
				t.Errorf("%v, limits %v, want %d of them", err, limits, want)
			}
			for _, limit := range limits {
				if limit != event.KeyRange {
					t.Errorf("limit %v", limit)
				}
			}
		})
	}
}

// TestBriefErrors checks that the text of a request's error is one short line with a next step, and that the SDK's error
// is in its chain.
func TestBriefErrors(t *testing.T) {
	for name, c := range map[string]struct {
		options dynamodb.Options
		says    string
	}{
		"NoRegion":      {dynamodb.Options{Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}, "set AWS_REGION"},
		"NoCredentials": {dynamodb.Options{Region: "local", Credentials: aws.NewCredentialsCache(none{})}, "set AWS_PROFILE"},
	} {
		t.Run(name, func(t *testing.T) {
			q := queueOn(dynamodb.New(c.options))
			_, err := q.Get(t.Context(), q.RecordKey())
			if err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 160 || errors.Unwrap(err) == nil {
				t.Errorf("error %v, want one that says %q", err, c.says)
			}
		})
	}
	e := table.Error{Operation: "GetItem", Table: "t", Err: errors.Join(errors.New(strings.Repeat("ä", 300)), &types.ThrottlingException{})}
	if s := e.Error(); strings.Contains(s, "\n") || len([]rune(s)) > 160+len(`GetItem on table "t": `) || !strings.HasSuffix(s, "…") {
		t.Errorf("it says %q", s)
	}
}

// none is a provider that has no credentials.
type none struct{}

func (none) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{}, errors.New("no EC2 IMDS role found")
}
