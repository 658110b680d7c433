// Command client takes locks as its standard input asks, and reports each event on its
// standard output, a line each. The tests of test/previous build it from this version of
// the library and from an earlier one, so it uses only what both have.
//
//	acquire          waiting, perhaps before its row is in the table; granted TICKET
//	share            the same, for a shared lock
//	write            wrote NUMBER, by Transact: one more than the last number of the ledger
//	write-as-before  the same, with the condition of the last lock that was acquired
//	release          released
//	turns N          done, after N turns of acquire, write and release
//
// Whatever fails is reported as "failed: " and the error.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

const table = "queuelock"

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// run connects to an endpoint. The name is that of the owner and of its credentials, by
// which the engine knows the sender of a request.
func run(endpoint, name, lease string) error {
	ttl, err := time.ParseDuration(lease)
	if err != nil {
		return err
	}
	db := dynamodb.New(dynamodb.Options{
		Region: "local", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider(name, "secret", ""),
	})
	cfg := queuelock.Config{TTL: ttl, Owner: name}
	if err := queuelock.CreateTable(context.Background(), db, table, cfg); err != nil {
		return err
	}
	locks, err := queuelock.New(db, table, cfg)
	if err != nil {
		return err
	}
	c := &client{db: db, locks: locks}
	fmt.Println("ready")
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		event, err := c.do(context.Background(), commands.Text())
		if err != nil {
			event = "failed: " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(event)
	}
	return errors.Join(commands.Err(), locks.Close(context.Background()))
}

type client struct {
	db    *dynamodb.Client
	locks *queuelock.Client
	lock  *queuelock.Lock
}

func (c *client) do(ctx context.Context, command string) (event string, err error) {
	verb, n, _ := strings.Cut(command, " ")
	switch verb {
	case "acquire":
		err = c.acquire(ctx)
		return c.granted(), err
	case "share":
		err = c.acquire(ctx, queuelock.Shared())
		return c.granted(), err
	case "write":
		return c.write(ctx, c.lock.Transact)
	case "write-as-before":
		return c.write(ctx, c.transactAsBefore)
	case "release":
		return "released", c.lock.Release(ctx)
	case "turns":
		return "done", c.turns(ctx, n)
	}
	return "", fmt.Errorf("unknown command %q", command)
}

func (c *client) acquire(ctx context.Context, options ...queuelock.Option) (err error) {
	waiting := false
	options = append(options, queuelock.OnProgress(func(queuelock.Progress) {
		if !waiting {
			fmt.Println("waiting")
		}
		waiting = true
	}))
	c.lock, err = c.locks.Acquire(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.For(time.Minute), options...)
	return err
}

func (c *client) granted() string {
	if c.lock == nil {
		return ""
	}
	return "granted " + c.lock.Ticket().String()
}

// write adds a line to the ledger. Only the lock's fence keeps two writers apart.
func (c *client) write(ctx context.Context, transact func(context.Context, ...types.TransactWriteItem) error) (string, error) {
	key := func(sort string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "ledger"}, "sk": &types.AttributeValueMemberS{Value: sort}}
	}
	out, err := c.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(table), Key: key("head"), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return "", err
	}
	last := 0
	if n, ok := out.Item["n"].(*types.AttributeValueMemberN); ok {
		if last, err = strconv.Atoi(n.Value); err != nil {
			return "", err
		}
	}
	number := strconv.Itoa(last + 1)
	head, line := key("head"), key("line-"+number)
	head["n"] = &types.AttributeValueMemberN{Value: number}
	line["ticket"] = c.lock.Ticket().Attribute()
	err = transact(ctx,
		types.TransactWriteItem{Put: &types.Put{TableName: aws.String(table), Item: head}},
		types.TransactWriteItem{Put: &types.Put{TableName: aws.String(table), Item: line}})
	return "wrote " + number, err
}

// transactAsBefore is what a holder sends that does not know of its loss.
func (c *client) transactAsBefore(ctx context.Context, items ...types.TransactWriteItem) error {
	condition := c.lock.Condition()
	_, err := c.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: append(items, types.TransactWriteItem{ConditionCheck: &condition}),
	})
	return err
}

func (c *client) turns(ctx context.Context, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	for range n {
		if err := c.acquire(ctx); err != nil {
			return err
		}
		if _, err := c.write(ctx, c.lock.Transact); err != nil {
			return err
		}
		if err := c.lock.Release(ctx); err != nil {
			return err
		}
	}
	return nil
}
