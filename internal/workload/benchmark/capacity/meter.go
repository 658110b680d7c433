package capacity

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// Meter counts what clients of the SDK send: each attempt, retries of the SDK included.
// The zero value is ready to use.
type Meter struct {
	mu    sync.Mutex
	count Count  // guarded by mu
	most  Count  // guarded by mu; zero for no limit
	over  func() // guarded by mu; called once when count passes most
}

// Count returns what was counted so far.
func (m *Meter) Count() Count {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// Limit has over called once when the count passes most. Later requests are still sent.
func (m *Meter) Limit(most Count, over func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.most, m.over = most, over
}

func (m *Meter) add(c Count) {
	m.mu.Lock()
	m.count = m.count.Add(c)
	var over func()
	if m.over != nil && !m.count.Within(m.most) {
		over, m.over = m.over, nil
	}
	m.mu.Unlock()
	if over != nil {
		over()
	}
}

// Option is an option of the SDK's client. Pass it after those that set the HTTP client.
func (m *Meter) Option(o *dynamodb.Options) {
	o.HTTPClient = metered{m, o.HTTPClient}
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("AskForCapacity",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				in.Parameters = asking(in.Parameters)
				return next.HandleInitialize(ctx, in)
			}), middleware.After)
	})
}

// asking returns a copy of a request that asks for its consumed capacity. The caller's
// is not changed.
func asking(parameters any) any {
	const total = types.ReturnConsumedCapacityTotal
	switch in := parameters.(type) {
	case *dynamodb.GetItemInput:
		c := *in
		c.ReturnConsumedCapacity = total
		return &c
	case *dynamodb.QueryInput:
		c := *in
		c.ReturnConsumedCapacity = total
		return &c
	case *dynamodb.PutItemInput:
		c := *in
		c.ReturnConsumedCapacity = total
		return &c
	case *dynamodb.UpdateItemInput:
		c := *in
		c.ReturnConsumedCapacity = total
		return &c
	case *dynamodb.DeleteItemInput:
		c := *in
		c.ReturnConsumedCapacity = total
		return &c
	}
	return parameters
}

// metered is an HTTP client that counts. A request without an answer counts as one unit:
// DynamoDB may have processed it.
type metered struct {
	meter *Meter
	next  dynamodb.HTTPClient
}

func (c metered) Do(r *http.Request) (*http.Response, error) {
	answer, err := c.next.Do(r)
	if err != nil {
		c.meter.add(unanswered(OperationOf(r.Header)))
		return answer, err
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	c.meter.add(Of(OperationOf(r.Header), answer.StatusCode, text))
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	return answer, nil
}
