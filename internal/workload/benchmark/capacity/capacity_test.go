package capacity

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestPrice(t *testing.T) {
	for _, test := range []struct {
		count Count
		want  float64
	}{
		{Count{}, 0},
		{Count{Requests: 5, WriteUnits: 1e6}, 0.625},
		{Count{WriteUnits: 2e6, ReadUnits: 4e6}, 1.75},
	} {
		if got := test.count.Price(); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%+v costs %v, want %v", test.count, got, test.want)
		}
	}
}

// wire answers each attempt with the next of its answers.
type wire struct {
	answers []string // the body of a success, or the type of an error
	sent    []string
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.sent = append(w.sent, string(body))
	answer := w.answers[0]
	w.answers = w.answers[1:]
	status := http.StatusOK
	switch {
	case answer == "":
		return nil, errors.New("no connection")
	case answer[0] != '{':
		status, answer = http.StatusBadRequest, `{"__type":"`+answer+`"}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// atOnce repeats requests without a delay.
type atOnce struct{ aws.Retryer }

func (atOnce) RetryDelay(int, error) (time.Duration, error) { return 0, nil }

// TestMeter checks that each attempt is counted, with the units of its answer.
func TestMeter(t *testing.T) {
	const answered, refused = `{"ConsumedCapacity":{"CapacityUnits":2}}`, "ConditionalCheckFailedException"
	for _, test := range []struct {
		name    string
		answers []string
		put     bool
		want    Count
	}{
		{"Read", []string{answered}, false, Count{1, 0, 2}},
		{"Write", []string{answered}, true, Count{1, 2, 0}},
		{"RefusedWrite", []string{refused}, true, Count{1, 1, 0}},
		{"ThrottledAttempt", []string{"ThrottlingException", answered}, false, Count{2, 0, 2}},
		{"UnansweredAttempt", []string{"", answered}, true, Count{2, 3, 0}},
		{"OtherError", []string{"ValidationException"}, true, Count{1, 0, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var meter Meter
			network := &wire{answers: test.answers}
			db := dynamodb.New(dynamodb.Options{
				Region: "local", BaseEndpoint: aws.String("http://127.0.0.1:1"), HTTPClient: network,
				Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
				Retryer:     atOnce{retry.NewStandard()},
			}, meter.Option)
			key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}
			get := &dynamodb.GetItemInput{TableName: aws.String("a"), Key: key}
			if test.put {
				_, _ = db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("a"), Item: key})
			} else {
				_, _ = db.GetItem(t.Context(), get)
			}
			if got := meter.Count(); got != test.want {
				t.Errorf("counted %+v, want %+v", got, test.want)
			}
			for _, sent := range network.sent {
				if !strings.Contains(sent, `"ReturnConsumedCapacity":"TOTAL"`) {
					t.Errorf("sent %s", sent)
				}
			}
			if get.ReturnConsumedCapacity != "" {
				t.Error("the caller's request was changed")
			}
		})
	}
}

// TestLimit checks that the function is called once, when more is spent than the limit.
func TestLimit(t *testing.T) {
	var meter Meter
	called := 0
	meter.Limit(Count{Requests: 10, WriteUnits: 2, ReadUnits: 10}, func() { called++ })
	for i, want := range []int{0, 0, 1, 1} {
		meter.add(Count{Requests: 1, WriteUnits: 1})
		if called != want {
			t.Errorf("called %d times after %d units, want %d", called, i+1, want)
		}
	}
}
