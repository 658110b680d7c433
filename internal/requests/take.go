package requests

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Take takes a number of the record's own counter, with the rider of TAKE. Otherwise than Send it sends a second
// request if the record is to be seeded, on an engine that cannot do that with the first. ReplyFailed says that the
// rider was not applied.
func Take(ctx context.Context, q table.Queue, rider ticket.Rider) (queue.Record, machine.Reply, error) {
	tickets := counter.Counter{
		Store: q.Record(), Key: q.RecordKey(), What: "serving record of \"" + q.String() + "\"",
		Master: ticket.Master{
			Attribute: attr.TicketNumber, Names: q.Names(),
			Host: q.Home != nil, Create: q.Home != nil && q.Home.Create, Beside: attr.Record(),
		},
	}
	sent := time.Now()
	item, err := tickets.Take(ctx, rider)
	if err != nil && item == nil {
		reply := ReplyOf(err)
		if !counter.MayHaveTaken(err) {
			reply = machine.ReplyFailed
		}
		return queue.Record{}, reply, err
	}
	rec, problem := queue.DecodeRecord(q.Items, item)
	rec = rec.Timed(sent, time.Now())
	switch {
	case err == nil && problem != nil:
		return queue.Record{}, machine.ReplyUnknown, problem
	case err == nil:
		return rec, machine.ReplyApplied, nil
	case problem != nil:
		return queue.Record{}, machine.ReplyFailed, table.NotApplied(problem)
	}
	return rec, machine.ReplyRefused, ErrRefused
}
