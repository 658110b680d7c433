// Command awslambda is a function for AWS Lambda that handles messages of SQS: those of
// one order on one instance at a time. README.md shows how to run it.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
)

// timeout is that of the function, as it is configured in Lambda.
const timeout = 30 * time.Second

func main() {
	f, err := newFunction(context.Background())
	if err != nil {
		log.Fatal("awslambda: ", err)
	}
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		lambda.Start(f.handle)
		return
	}
	if err := f.once(context.Background()); err != nil {
		log.Fatal("awslambda: ", err)
	}
}

// newFunction makes what all invocations of a process share. It sends no request to the
// table.
func newFunction(ctx context.Context) (*function, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	table := cmp.Or(os.Getenv("QUEUELOCK_TABLE"), "queuelock")
	locks, err := queuelock.New(dynamodb.NewFromConfig(cfg), table, queuelock.Config{})
	if err != nil {
		return nil, err
	}
	out := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	return &function{locks: locks, log: out, work: func(ctx context.Context, lock *queuelock.Lock, body string) error {
		out.Info("working", "order", lock.Key().Entity, "ticket", lock.Ticket(), "body", body) // the place for the work
		return ctx.Err()
	}}, nil
}

// once handles an event from standard input, outside Lambda.
func (f *function) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var event events.SQSEvent
	if err := json.NewDecoder(os.Stdin).Decode(&event); err != nil {
		return err
	}
	response, err := f.handle(ctx, event)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(response)
}
