package queuelocktest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// Client is a real DynamoDB client with a connection of its own. It can be
// passed wherever an interface of DynamoDB calls is asked for; code that wants
// the concrete type gets the embedded *dynamodb.Client.
type Client struct {
	*dynamodb.Client

	table *Table
	name  string
	conn  *faultnet.Connection
	rules rules
}

// Client makes a client with a connection of its own. The name stands for it in
// the log and in [Request.Client]; clients which share one also share their
// counts. The options are those of the SDK, for example
//
//	table.Client("alice", func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
//
// Without any, the client retries as the SDK does by default. It opens nothing
// and needs no closing.
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

// Name is the name the client was made with.
func (c *Client) Name() string { return c.name }

// Inject makes a fault meet the requests of this client, before any that was
// injected into its table.
func (c *Client) Inject(f Fault) *Injection { return c.rules.add(f) }

// Partition parts the client from the table: its requests fail with a refused
// connection, and those under way with a reset one as soon as they would go on.
// For a network that answers nothing at all, inject [SwallowRequest] instead.
func (c *Client) Partition() { c.conn.Cut() }

// Heal ends a Partition.
func (c *Client) Heal() { c.conn.Heal() }

// Counts is what the clients of this name have sent and consumed so far.
func (c *Client) Counts() Counts { return countsOf(c.table.net.Counts(c.name)) }
