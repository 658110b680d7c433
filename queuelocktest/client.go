package queuelocktest

import (
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// Client is a real DynamoDB client with a connection of its own. It satisfies
// interfaces of DynamoDB calls, and code that needs the concrete type gets the embedded
// *dynamodb.Client.
type Client struct {
	*dynamodb.Client

	table *Table
	name  string
	conn  *faultnet.Connection
	rules rules
}

// Client returns a client with a connection of its own. The log and [Request.Client]
// show its name, and clients of one name share their counts. The options are those of
// the SDK, for example
//
//	table.Client("alice", func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
//
// Without options the client retries as the SDK does by default. It needs no closing.
func (t *Table) Client(name string, optFns ...func(*dynamodb.Options)) *Client {
	c := &Client{table: t, name: name}
	c.conn = t.net.Connect(name, func(wire faultnet.Request) fault.Fate {
		r := Request{
			Client:    wire.Client,
			Operation: wire.Operation,
			Attempt:   wire.Attempt,
			Body:      wire.Body,
			wire:      wire,
			keys:      [2]string{t.cfg.pk, t.cfg.sk},
		}
		if fate, ok := c.rules.fate(r); ok {
			return fate
		}
		fate, _ := t.rules.fate(r)
		return fate
	})
	c.Client = faultnet.SDK(c.conn, optFns...)
	return c
}

// Name returns the name of the client.
func (c *Client) Name() string { return c.name }

// Inject adds a fault to the requests of this client, before those of its table.
func (c *Client) Inject(f Fault) *Injection { return c.rules.add(f) }

// Partition separates the client from the table. Its requests fail with a refused
// connection, and those under way with a reset one. For a network that does not answer,
// inject [SwallowRequest] instead.
func (c *Client) Partition() { c.conn.Cut() }

// Heal ends a Partition.
func (c *Client) Heal() { c.conn.Heal() }

// Serve serves the client's connection over HTTP on a free port of 127.0.0.1, for
// programs in any language, and returns the endpoint, such as "http://127.0.0.1:40123".
// The client's faults and counts apply to them; a request that is lost ends without an
// answer. A program needs, beside the endpoint, a region and credentials, as the SDKs
// sign each request. Any will do:
//
//	AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:40123
//	AWS_REGION=local AWS_DEFAULT_REGION=local AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local
//
// boto3 reads AWS_DEFAULT_REGION only.
//
// The server ends with the test. It has sockets, so do not use it in a bubble.
func (c *Client) Serve() (endpoint string) {
	c.table.tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.table.tb.Fatalf("queuelocktest: serve %q: %v", c.name, err)
	}
	server := &http.Server{
		Handler: &httputil.ReverseProxy{
			Transport: c.conn,
			Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "dynamodb.invalid" },
			// As of a broken connection.
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		},
		ReadHeaderTimeout: 10 * time.Second,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	c.table.tb.Cleanup(func() {
		_ = server.Close() // and its connections, whose requests may be swallowed
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			c.table.tb.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}

// Counts returns what the clients of this name have sent and consumed so far.
func (c *Client) Counts() Counts { return countsOf(c.table.net.Counts(c.name)) }
