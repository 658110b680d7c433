package waiter

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/serving"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// pace is how fast the queue was seen to move. It turns sights into the
// observations by which the schedule decides.
type pace struct {
	begun      time.Time // first sight
	beginFloor ticket.Number
	floor      ticket.Number
	moved      time.Time     // the last sight that showed a change
	holder     string        // who was being served then
	mean       time.Duration // between two grants, as seen
	clearIn    time.Duration // as judged last
}

// see takes a sight in.
func (p *pace) see(sight queue.Sight) {
	floor := sight.Record.Floor()
	holder := ""
	if len(sight.Record.Holders) > 0 {
		holder = sight.Record.Holders[0].ID
	}
	if p.begun.IsZero() {
		p.begun, p.beginFloor, p.moved = sight.ReadAt, floor, sight.ReadAt
	}
	if floor != p.floor || holder != p.holder {
		p.moved = sight.ReadAt
	}
	if grants := floor.After(p.beginFloor); floor != p.floor && grants > 0 {
		p.mean = sight.ReadAt.Sub(p.begun) / time.Duration(min(grants, 1<<31))
	}
	p.floor, p.holder = floor, holder
}

// delay is after how long to look again.
func (p *pace) delay(ctx context.Context, w *Waiter, rec serving.Record) time.Duration {
	now := time.Now()
	o := waitpolicy.Observation{
		Ahead:     w.standing.Ahead,
		Serving:   len(rec.Holders) > 0,
		Mean:      rec.Turn.Mean,
		Deviation: rec.Turn.Deviation,
		Pace:      p.mean,
		Still:     now.Sub(p.moved),
		ClearIn:   p.clearIn,
	}
	if o.Serving {
		// Since the holder's own word, on DynamoDB's clock, or else since this
		// waiter first saw it.
		o.Elapsed = now.Sub(p.moved)
		since := rec.Holders[0].Since
		if earliest, _, ok := w.Queue.Clock().At(now); ok && !since.IsZero() {
			o.Elapsed = max(o.Elapsed, earliest.Sub(since))
		}
	}
	return w.Schedule.Delay(o, random.Float64(ctx))
}
