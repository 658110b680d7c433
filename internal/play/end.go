package play

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// Publish is Release that also leaves a result in the record, both or neither. ttl is how long the result lives. Without DynamoDB's
// time it has no end that can be judged, and answers none but the callers that wait for it. Nil says that the result was left. It
// returns the reason if the lock has ended before.
func (l *Lock) Publish(ctx context.Context, value []byte, ttl time.Duration) error {
	result := queue.Result{Ticket: l.ticket, Value: bytes.Clone(value)}
	if earliest, _, known := l.p.queue.Clock().At(time.Now()); known {
		result.Until = earliest.Add(ttl)
	}
	return l.releaseBy(ctx, member.Releases{Result: &result})
}

// update is an update of the user's item with which the lock is released.
type update struct {
	users expression.Expression
	item  clause.Item // as the last answer has shown it
}

// ConditionError reports that the condition of an UpdateAndRelease was false. Nothing was written.
type ConditionError struct {
	Current clause.Item // without the lock's attributes
}

func (e *ConditionError) Error() string { return "the update's condition was false" }

const updateAndRelease = "update and release"

// UpdateAndRelease sends the caller's update of the item with the record, and the release, in one request. asks reports that the
// update has a condition. It returns the item as it is afterwards, without the lock's attributes. The lock is held until the update
// is known to be made. Returns Config.Unknown's error if the update may have been made, or may yet be, and Config.Released also if an
// earlier call has released the lock. With any other error, such as *ConditionError, nothing was written.
func (l *Lock) UpdateAndRelease(ctx context.Context, users expression.Expression, asks bool) (clause.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("queuelock: %s: %s: nothing was sent: %w", l.name(), updateAndRelease, err)
	}
	if err := l.enterEnd(ctx, updateAndRelease); err != nil {
		return nil, err
	}
	defer l.done()
	if err := cmp.Or(l.Err(), context.Cause(l.p.c.Closed)); err != nil {
		return nil, err
	}
	held, cancel := l.Within(ctx)
	defer cancel()
	defer context.AfterFunc(l.p.c.Closed, cancel)()
	u := &update{users: users}
	l.mu.Lock()
	l.release, l.update = held.(lockContext).Context, u // that does not read the clock
	l.mu.Unlock()
	r := l.playEnd(held, member.Releases{Update: true, Asks: asks}).r
	l.mu.Lock()
	item := l.p.queue.Home.Strip(u.item)
	if l.update = nil; l.phase.Held() {
		l.release = nil
	}
	l.mu.Unlock()
	err := r.Err
	switch r.Result {
	case queue.HoldMade:
		return item, nil
	case queue.HoldEarlier:
		return nil, l.p.c.Released
	case queue.HoldLost:
		return nil, l.Err()
	case queue.HoldDeclined:
		err = &ConditionError{Current: item}
		if !r.Open {
			return nil, err
		}
	case queue.HoldOverwritten: // or the item was deleted
		err = errOverwritten
	}
	if r.Open {
		return nil, l.p.c.Unknown(l.p.queue, err, ctx.Err(), l.Err())
	}
	return nil, l.failed(ctx, updateAndRelease, err)
}

// updates sends a release with an update.
func (l *Lock) updates(ctx context.Context, q table.Queue, s member.Send) (a member.Answer) {
	l.mu.Lock()
	u := l.update
	l.mu.Unlock()
	a.Record, a.Reply, a.Err = serving.SendWith(ctx, q, s.Write, u.users)
	l.mu.Lock()
	u.item = a.Record.Item
	l.mu.Unlock()
	return a
}

// declined takes the end of an update after which the lock is held, unless that has shown its loss.
func (l *Lock) declined(r member.Report) {
	if r.Result == queue.HoldLost {
		l.lost(r.Err)
	}
	if end := l.takes(); end != nil {
		end <- ended{r: r}
	}
}

// warnings are calls before the lease ends.
type warnings struct {
	margins []time.Duration
	timers  []*time.Timer
	warn    func(margin int)
}

// Warns lets warn be called with the index of each margin that is left of the lease, or is left of it already: in a goroutine of its
// own, once until a renewal succeeds, and not after Release.
func (l *Lock) Warns(margins []time.Duration, warn func(margin int)) {
	if len(margins) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings = &warnings{margins: margins, warn: warn}
	for i, margin := range margins {
		l.warnings.timers = append(l.warnings.timers, time.AfterFunc(l.left()-margin, func() { l.warns(i) }))
	}
}

// arm lets the warnings be called once more after a renewal. l.mu is held.
func (w *warnings) arm(l *Lock) {
	if w == nil {
		return
	}
	for i, t := range w.timers {
		t.Reset(l.left() - w.margins[i])
	}
}

// warns calls a warning.
func (l *Lock) warns(i int) {
	l.mu.Lock()
	w, due := l.warnings, l.phase.Held() && l.left() <= l.warnings.margins[i]
	l.mu.Unlock()
	if due {
		l.p.c.Background(func() { w.warn(i) })
	}
}
