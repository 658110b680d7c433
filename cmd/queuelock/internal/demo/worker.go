package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
	"github.com/queuelock/queuelock/internal/workload/crew"
	"github.com/queuelock/queuelock/internal/workload/turns"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

const closeLimit = 5 * time.Second

// Assignment is the work of a worker: the first line of its standard input.
type Assignment struct {
	Table, Entity string
	Owner         string
	First, Last   int // rounds
	Hold          time.Duration
	TTL           time.Duration
	WaiterTTL     time.Duration
	// Doomed is the round in whose turn the worker waits to be killed. Zero: none.
	Doomed int
}

type worker struct {
	Assignment
	post    *crew.Post
	witness *witness
}

// Work runs a worker process. It reads its Assignment and the signal to begin from in, takes
// its turns, and writes records to out, with what it has used so far. It ends when in does.
// Its error was also written.
func Work(ctx context.Context, db queuelock.DynamoDB, used func() capacity.Count, in io.Reader, out io.Writer) error {
	post := crew.NewPost(in, out)
	post.Usage = func() turns.Usage { return turns.Usage(used()) }
	w := &worker{post: post, witness: &witness{DynamoDB: db, report: post.Report}}
	err := w.work(ctx)
	if err != nil {
		post.Report(turns.Record{Kind: turns.Failed, Error: err.Error()})
	}
	return err
}

func (w *worker) work(ctx context.Context) (err error) {
	if err := w.post.Read(&w.Assignment); err != nil {
		return fmt.Errorf("read the assignment: %w", err)
	}
	client, err := queuelock.New(w.witness, w.Table, queuelock.Config{TTL: w.TTL, WaiterTTL: w.WaiterTTL, Owner: w.Owner})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		if err = errors.Join(err, client.Close(ctx)); err == nil {
			w.post.Report(turns.Record{Kind: turns.Done})
		}
	}()
	w.post.Report(turns.Record{Kind: turns.Ready})
	if err := w.post.Read(new(string)); err != nil {
		return fmt.Errorf("wait for the start: %w", err)
	}
	ctx, cancel := w.post.Attended(ctx)
	defer cancel(nil)
	for round := w.First; round <= w.Last; round++ {
		if err := w.turn(ctx, client, round); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) turn(ctx context.Context, client *queuelock.Client, round int) error {
	w.post.Report(turns.Record{Kind: turns.Asked, Entity: w.Entity, Waits: true})
	lock, err := client.Acquire(ctx, queuelock.Key{Entity: w.Entity}, waitpolicy.Forever)
	if err != nil {
		return err
	}
	granted := turns.Now()
	w.post.Report(turns.Record{Kind: turns.Granted, At: granted, Believed: granted, Ticket: lock.Ticket()})
	var over <-chan time.Time
	if round != w.Doomed {
		timer := time.NewTimer(w.Hold)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-lock.Context().Done():
	case <-ctx.Done():
	}
	// Believed to be held up to now, even if lost a moment ago: nothing delays the
	// news of a loss here.
	lost := lock.Err() != nil
	ended := turns.Record{Kind: turns.Ended, At: turns.Now(), Ticket: lock.Ticket()}
	if ended.Believed = ended.At; lost {
		ended.Doubted = ended.At
	}
	w.post.Report(ended)
	if err := lock.Release(ctx); err != nil && !errors.Is(err, queuelock.ErrLost) {
		return err
	}
	w.post.Report(turns.Record{Kind: turns.Released, Ticket: lock.Ticket()})
	return w.post.Err()
}

// witness is a client between the library and the SDK. It reports when a number was taken and when a row was present.
type witness struct {
	queuelock.DynamoDB
	report func(turns.Record)
}

// PutItem puts a row.
func (w *witness) PutItem(ctx context.Context, in *dynamodb.PutItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	sent := turns.Now()
	out, err := w.DynamoDB.PutItem(ctx, in, optFns...)
	if n, ok := rowOf(in.Item); err == nil && ok {
		w.report(turns.Record{Kind: turns.Queued, At: turns.Now(), Sent: sent, Ticket: n})
	}
	return out, err
}

// UpdateItem writes to the record, or renews a row.
func (w *witness) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	sent := turns.Now()
	out, err := w.DynamoDB.UpdateItem(ctx, in, optFns...)
	if err != nil {
		return out, err
	}
	if n, ok := rowOf(in.Key); ok {
		w.report(turns.Record{Kind: turns.Renewed, At: sent, Ticket: n})
	} else if n, ok := issued(out.Attributes); ok && takes(in) {
		w.report(turns.Record{Kind: turns.Took, At: sent, Ticket: n})
	}
	return out, nil
}

func takes(in *dynamodb.UpdateItemInput) bool {
	for placeholder, name := range in.ExpressionAttributeNames {
		if name == attr.TicketNumber && strings.Contains(aws.ToString(in.UpdateExpression), placeholder+" = ") {
			return true
		}
	}
	return false
}

// issued returns the last number that was issued, from an image of the record.
func issued(item map[string]types.AttributeValue) (ticket.Number, bool) {
	n, ok := item[attr.TicketNumber].(*types.AttributeValueMemberN)
	if !ok {
		return ticket.Number{}, false
	}
	number, err := ticket.Parse(n.Value)
	return number, err == nil
}

// rowOf returns the ticket in a row's key; false for the record, which is number zero.
func rowOf(key map[string]types.AttributeValue) (ticket.Number, bool) {
	sk, ok := key["sk"].(*types.AttributeValueMemberS)
	if !ok {
		return ticket.Number{}, false
	}
	_, padded, _ := strings.Cut(sk.Value, "/")
	number, err := ticket.Parse(padded)
	return number, err == nil && !number.IsZero()
}
