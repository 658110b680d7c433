package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

const (
	// reserve is kept of the time of an invocation, to leave the queue or release the lock.
	reserve = 5 * time.Second
	// wait is short, because waiting costs the function's time: SQS delivers a message
	// again.
	wait = 2 * time.Second
)

// function handles messages. The attribute MessageGroupId of SQS, or else the message's
// attribute "order", names what is locked.
type function struct {
	locks *queuelock.Client
	log   *slog.Logger
	work  func(ctx context.Context, lock *queuelock.Lock, body string) error
}

// handle handles the messages one after another, and returns those that SQS shall
// deliver again. No lock is held when it returns, because Lambda may then freeze the
// process.
func (f *function) handle(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-reserve))
		defer cancel()
	}
	var again events.SQSEventResponse
	for _, message := range event.Records {
		if err := f.one(ctx, message); err != nil {
			f.log.Warn("not handled", "message", message.MessageId, "err", err)
			again.BatchItemFailures = append(again.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: message.MessageId})
		}
	}
	return again, nil
}

// one handles one message under the lock of its order. The lease is longer than the
// function's timeout, so the lock is not lost while the invocation runs, and needs no
// heartbeat.
func (f *function) one(ctx context.Context, message events.SQSMessage) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	order := message.Attributes["MessageGroupId"]
	if attribute, ok := message.MessageAttributes["order"]; ok && attribute.StringValue != nil {
		order = *attribute.StringValue
	}
	return f.locks.Do(ctx, queuelock.Key{Entity: order}, waitpolicy.For(wait),
		func(ctx context.Context, lock *queuelock.Lock) error { return f.work(ctx, lock, message.Body) },
		queuelock.WithTTL(timeout*6/5), queuelock.NoHeartbeat())
}
