package queuelock

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/serving"
)

// ReleaseWith makes the writes and releases the lock, all or none, in one
// transaction: the work is committed exactly when the lock is given back. One
// request, a TransactWriteItems of the items with RELEASE behind them; two if
// somebody has queued unnoticed since; and after a wait in the queue one more in
// the background, if nobody is left in it. Items are as for Transact.
//
// nil says that the writes were made, once, and that the lock was released with
// them. Its context is cancelled then, and not before: what else the lock
// protects must have ended before the call. After any error the lock is held as
// before, unless the error says otherwise, and is to be released:
//
//   - ErrReleased: it had been released; *LostError, which matches ErrLost: it
//     had been lost. Nothing was written.
//   - One that matches *types.TransactionCanceledException: one of the
//     caller's items stood in the way, or others were in the way until the end.
//     Nothing was written; the reasons are in the order of the items, with that
//     of the release behind them.
//   - *UnknownOutcomeError: no answer came, and the writes and the release may
//     have been made together, or may yet be, as long as the lock is held. A
//     Release that returns nil settles that: they have been made by then, or
//     never will be. ReleaseWith may be called again, and ErrReleased then
//     says that an earlier call's writes were made.
//   - Any other is the table's, and nothing was written.
//
// Conflicts with other requests, throttles and lost answers are retried until
// ctx or the lock ends, the client is closed, or for eight minutes, with one
// ClientRequestToken for each form of the release, as Transact does. Heartbeats
// go on meanwhile. Another release of the same lock waits for this one.
func (l *Lock) ReleaseWith(ctx context.Context, items ...types.TransactWriteItem) error {
	const what = "release with"
	if len(items) == 0 || len(items) > maxTransactItems {
		return fmt.Errorf("queuelock: ReleaseWith: %d items: between 1 and %d are possible", len(items), maxTransactItems)
	}
	p, err := l.part(ctx, what)
	if err != nil {
		return err
	}
	defer p.end()
	form, err := p.transaction(p.form(), items)
	if err != nil {
		return err
	}
	var earlier *transaction // the fast form, where an attempt at it may yet be made
	gone := false            // the record has shown that the lock is not in it
	begun := time.Now()
	for retries := retry.For(transactPatience); ; {
		err := l.queue.Transact(p.held, form.token, form.items)
		reasons := table.Reasons(err)
		form.open = form.open || err != nil && reasons == nil && table.Applied(err, true)
		p.open = form.open || earlier != nil && earlier.open
		if err == nil {
			p.made(form.quiet && l.lastSeen().Quiet(l.ticket))
			return nil
		}
		if len(reasons) == len(form.items) && reasons[len(items)] == table.ReasonFailed {
			item := table.ReasonItem(err, len(items))
			rec, readErr := serving.Refusal(p.held, l.queue, item)
			_, held := rec.Held(l.id, l.ticket)
			switch {
			case readErr != nil:
				err, reasons = readErr, nil
			case !held && earlier != nil:
				// Either the fast form was made after all, or nothing. Its
				// token tells.
				form, earlier, gone = earlier, nil, true
				continue
			case !held && item == nil && (form.open || !p.isAlone()) && !gone:
				gone = true // an attempt may have arrived before the read
				continue
			case !held:
				return p.gone(rec)
			case form.form == serving.FormFast && table.Passing(reasons[:len(items)]):
				// Refused for certain, if none was sent before it that may
				// arrive yet; and that would take the holder out as well. Where
				// others hold beside it the form may become possible again, and
				// then also what was refused may come once more.
				if form.open || !p.isAlone() {
					earlier = form
				}
				if form, err = p.transaction(serving.FormHandOff, items); err != nil {
					return p.failed(what, err)
				}
				form.quiet = false // somebody has queued
				continue
			}
		}
		if !table.Passing(reasons) && !table.Transient(err) || !retries.Pause(p.held) || time.Since(begun) > transactPatience+time.Minute {
			// The last: this process stood still, and the token may be forgotten.
			return p.failed(what, err)
		}
	}
}

// form is the form of RELEASE to begin with, as Release has it.
func (p *parting) form() serving.Form {
	if seen := p.lastSeen(); !p.claimed && len(seen.Holders) == 1 && seen.Quiet(p.ticket) {
		return serving.FormFast
	}
	return serving.FormHandOff
}

// lastSeen is the record as it was last seen.
func (l *Lock) lastSeen() serving.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

// transaction is one form of a release with others' writes. Repeated with its
// token it is made once.
type transaction struct {
	form  serving.Form
	token string
	items []types.TransactWriteItem
	open  bool // an attempt had no answer
	quiet bool // it leaves a queue off the short path in which nobody may be left
}

func (p *parting) transaction(form serving.Form, items []types.TransactWriteItem) (*transaction, error) {
	turn := p.lastSeen().Turn.Add(time.Since(p.since))
	release, err := serving.ReleaseIn(p.queue, form, p.id, p.ticket, turn)
	if err != nil {
		return nil, err
	}
	return &transaction{
		form: form, token: random.Text(p.held), quiet: form == serving.FormHandOff,
		items: append(append([]types.TransactWriteItem{}, items...), types.TransactWriteItem{Update: &release}),
	}, nil
}
