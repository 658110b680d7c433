package proxy

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
)

// TestCount checks that requests and units are counted for each table, from what an engine answers.
func TestCount(t *testing.T) {
	var got string
	answers := map[string]struct {
		status int
		body   string
	}{
		"GetItem":     {200, `{"ConsumedCapacity":{"TableName":"a","CapacityUnits":1.0}}`},
		"Query":       {200, `{"Items":[],"ConsumedCapacity":{"CapacityUnits":2.5}}`},
		"UpdateItem":  {200, `{"ConsumedCapacity":{"CapacityUnits":3}}`},
		"PutItem":     {400, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}`},
		"DeleteItem":  {400, `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException"}`},
		"CreateTable": {200, `{}`},
	}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = string(body)
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		w.WriteHeader(answers[operation].status)
		_, _ = io.WriteString(w, answers[operation].body)
	}))
	defer engine.Close()
	p := must(StartHTTP(engine.URL, 0))
	defer p.Close()
	for _, test := range []struct {
		operation, body, sent string
		want                  capacity.Count
	}{
		{"GetItem", `{"TableName":"a"}`, `{"ReturnConsumedCapacity":"TOTAL","TableName":"a"}`, count(0, 1)},
		{"Query", `{ "TableName" : "a", "Limit":1}`, `{"ReturnConsumedCapacity":"TOTAL", "TableName" : "a", "Limit":1}`, count(0, 2.5)},
		{"UpdateItem", `{"ReturnConsumedCapacity":"INDEXES","TableName":"a"}`, `{"ReturnConsumedCapacity":"INDEXES","TableName":"a"}`, count(3, 0)},
		{"PutItem", `{"TableName":"a"}`, `{"ReturnConsumedCapacity":"TOTAL","TableName":"a"}`, count(1, 0)},
		{"DeleteItem", `{"TableName":"a"}`, `{"ReturnConsumedCapacity":"TOTAL","TableName":"a"}`, count(0, 0)},
		{"CreateTable", `{"TableName":"a"}`, `{"TableName":"a"}`, count(0, 0)},
	} {
		t.Run(test.operation, func(t *testing.T) {
			before := p.Count("a")
			request, _ := http.NewRequest(http.MethodPost, p.URL(), strings.NewReader(test.body))
			request.Header.Set("X-Amz-Target", "DynamoDB_20120810."+test.operation)
			answer := must(http.DefaultClient.Do(request))
			text, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if want := answers[test.operation]; answer.StatusCode != want.status || string(text) != want.body {
				t.Errorf("answer %d %s", answer.StatusCode, text)
			}
			if got != test.sent {
				t.Errorf("the engine got %s, want %s", got, test.sent)
			}
			if spent := p.Count("a").Sub(before); spent != test.want {
				t.Errorf("counted %+v, want %+v", spent, test.want)
			}
		})
	}
	if other := p.Count("b"); other != (capacity.Count{}) {
		t.Errorf("another table has %+v", other)
	}
}

// must returns the result of a step that has to succeed.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// count is that of one request.
func count(write, read float64) capacity.Count {
	return capacity.Count{Requests: 1, WriteUnits: write, ReadUnits: read}
}

// TestDelay checks that both proxies add at least their round trip, and keep the order of bytes.
func TestDelay(t *testing.T) {
	const roundTrip = 20 * time.Millisecond
	echo := must(net.Listen("tcp", "127.0.0.1:0"))
	defer echo.Close()
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); conn.Close() }()
		}
	}()
	p := must(StartTCP(echo.Addr().String(), roundTrip))
	defer p.Close()
	conn := must(net.Dial("tcp", p.Address()))
	defer conn.Close()
	begun := time.Now()
	text := strings.Repeat("0123456789", 10000)
	go func() { _, _ = io.WriteString(conn, text) }()
	back := make([]byte, len(text))
	if _, err := io.ReadFull(conn, back); err != nil || string(back) != text {
		t.Errorf("the echo differs: %v", err)
	}
	if took := time.Since(begun); took < roundTrip {
		t.Errorf("TCP took %v, want at least %v", took, roundTrip)
	}

	engine := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer engine.Close()
	h := must(StartHTTP(engine.URL, roundTrip))
	defer h.Close()
	begun = time.Now()
	answer := must(http.Post(h.URL(), "", strings.NewReader("{}")))
	answer.Body.Close()
	if took := time.Since(begun); took < roundTrip {
		t.Errorf("HTTP took %v, want at least %v", took, roundTrip)
	}
}
