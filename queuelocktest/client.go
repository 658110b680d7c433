package queuelocktest

import (
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

// Counts returns what the clients of this name have sent and consumed so far.
func (c *Client) Counts() Counts { return countsOf(c.table.net.Counts(c.name)) }
