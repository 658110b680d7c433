package session

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// end is one call that releases the lock, as it is played: the hold decides what comes next. The turnstile of the releases
// is held.
type end struct {
	*Session
	users  *expression.Expression // of UpdateAndRelease; nil: it is Release
	policy retry.Policy           // of its one series of attempts
	resume func()                 // lets transactions begin again; nil: they may
	pass   handover.Next          // the waiter that was looked for last
	record queue.Record           // of the last answer
	rung   bool                   // the row of the next waiter is read to ring its bell
}

// releasing is the policy of a request that ends the lock. It waits for new credentials, too.
var releasing = retry.Policy{Retryable: func(err error) bool { return table.Retryable.Retryable(err) || table.Renewable(err) }}

// play does what the hold asks for, until the call is over.
func (c *end) play(ctx context.Context, do queue.HoldDo) queue.HoldDo {
	defer func() {
		if do.Do != queue.HoldDone {
			c.step(queue.HoldEvent{Kind: queue.HoldAbandoned})
			c.pass.Answer(queue.Passed{Reply: queue.ReplyUnknown}) // the DynamoDB client has panicked
		}
		if c.resume != nil {
			c.resume()
		}
	}()
	for do.Do != queue.HoldDone {
		e := c.perform(ctx, do)
		e.Deadline = c.keeper.Deadline()
		sent := do.Do == queue.HoldSend
		if do = c.step(e); sent { // the end of this turn is reported before the grant of the next
			c.pass.Answer(queue.Passed{Reply: e.Reply, Record: e.Record})
		}
	}
	return do
}

// perform does one thing, and returns what has happened.
func (c *end) perform(ctx context.Context, do queue.HoldDo) queue.HoldEvent {
	if !do.Limit.IsZero() {
		var cancel func()
		ctx, cancel = context.WithDeadline(ctx, do.Limit)
		defer cancel()
	}
	switch do.Do {
	case queue.HoldSettle:
		resume, err := c.transacts.finish(ctx, queue.TransactionUnsettled)
		if c.resume = resume; resume != nil {
			err = nil // the release says that it is unsettled
		}
		return queue.HoldEvent{Err: err, Delivered: c.wasDelivered()}
	case queue.HoldShow:
		soon, cancel := context.WithTimeout(ctx, settleLimit)
		defer cancel()
		if !c.transacts.last.visible(soon) {
			return queue.HoldEvent{Err: errUnsettled}
		}
	case queue.HoldOffer:
		c.pass = c.client.Local.Next(c.config.Queue, c.grant.ID, c.grant.Ticket, c.nextRow())
		return queue.HoldEvent{Next: c.pass.Grant}
	case queue.HoldPause:
		if !c.policy.Again(ctx, do.Err) {
			return queue.HoldEvent{Err: do.Err}
		}
	case queue.HoldWait:
		if !retry.Sleep(ctx, time.Until(do.At)) {
			return queue.HoldEvent{Err: ctx.Err()}
		}
	case queue.HoldRead:
		rec, err := serving.Get(ctx, c.config.Queue)
		return queue.HoldEvent{Record: rec, Err: err}
	case queue.HoldSend:
		return c.send(ctx, do)
	}
	return queue.HoldEvent{} // to HoldFollow, too: the lock has one turn
}

// send sends one request.
func (c *end) send(ctx context.Context, do queue.HoldDo) (e queue.HoldEvent) {
	q := c.config.Queue
	if do.Ring {
		c.ring()
	}
	switch {
	case c.users != nil:
		e.Record, e.Reply, e.Err = serving.SendWith(ctx, q, do.Write, *c.users)
	case do.Blind:
		e.Record, e.Reply, e.Err = serving.SendBlind(ctx, q, do.Write)
	default:
		e.Record, e.Reply, e.Err = serving.Send(ctx, q, do.Write)
	}
	c.record = e.Record
	return e
}

// passOn wakes the waiters that may be next after the end of a turn, and puts an idle queue back on the path where the next Acquire is
// one request.
func (c *end) passOn(do queue.HoldDo) {
	q := c.config.Queue
	c.client.Local.Released(q, c.pass, do.After, c.record)
	if do.Reset {
		c.client.Background(func() { c.client.Reset(context.WithoutCancel(c.ctx), q, c.grant.Ticket) })
	}
}
