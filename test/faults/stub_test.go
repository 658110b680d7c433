package faults_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// stub answers as a table would in which each lock is idle until it is taken. A test that uses
// it measures the library and the SDK's client alone.
type stub struct {
	latency time.Duration

	mu      sync.Mutex
	last    map[string]time.Time // of the last write of each key
	longest time.Duration        // between two writes of one key
}

// client returns a client of the table.
func (s *stub) client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String("http://stub"), HTTPClient: s,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
}

var entity = regexp.MustCompile(`"key-\d+"`)

// wrote records a write of the key in the body.
func (s *stub) wrote(body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, now := string(entity.Find(body)), time.Now()
	if last, ok := s.last[key]; ok {
		s.longest = max(s.longest, now.Sub(last))
	}
	if s.last == nil {
		s.last = map[string]time.Time{}
	}
	s.last[key] = now
}

// taken finds the id and the entry that a TAKE puts into holders.
var taken = regexp.MustCompile(`\{"M":\{"([a-z0-9]+-\d+)":\{"M":\{[^{}]*(\{[^{}]*\}[^{}]*)*\}\}\}\}`)

const (
	granted  = `{"Attributes":{"ticketNumber":{"N":"2"},"servingAfter":{"N":"1"},"granted":{"N":"1"},"holdMode":{"S":"exclusive"},"holders":`
	released = `{"Attributes":{"ticketNumber":{"N":"2"},"granted":{"N":"2"}}}`
)

func (s *stub) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := "{}"
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "UpdateItem") {
		s.wrote(body)
		if bytes.Contains(body, []byte("ALL_NEW")) {
			answer = released
		}
		if entry := taken.Find(body); entry != nil {
			answer = granted + string(entry) + "}}"
		}
	}
	if s.latency > 0 {
		time.Sleep(s.latency)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{
			"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Requestid": {"stub"},
			"Date": {time.Now().UTC().Format(http.TimeFormat)},
		},
		Body: io.NopCloser(strings.NewReader(answer)), ContentLength: int64(len(answer)),
	}, nil
}
