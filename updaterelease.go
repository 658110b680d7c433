package queuelock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/serving"
)

// ConditionError says that the condition of an UpdateAndRelease was false.
// Nothing was written, and the lock is held.
type ConditionError struct {
	Item ItemKey
	// Current is the item that refused, without the lock's attributes.
	Current map[string]types.AttributeValue
}

func (e *ConditionError) Error() string {
	return fmt.Sprintf("queuelock: item %s: the update's condition was false: nothing was written, and the lock is held", e.Item)
}

// UpdateAndRelease updates the item and releases the lock, both or neither, in
// one conditional request, and returns the item as it then is, without the
// lock's attributes: a read, a change and a write under a fair lock are two
// requests when nobody waits. Two of its own if somebody has queued unnoticed
// since; and after a wait in the queue one more in the background, if nobody is
// left in it. The update must leave the key and the lock's attributes alone:
// one that names them is refused, and nothing is sent. Conditions, if there are
// any, must all hold; they may name anything.
//
// nil says that the update was made, once, and that the lock was released with
// it. Its context is cancelled then, and not before. After any error the lock is
// held as before, unless the error says otherwise, and is to be released:
//
//   - *ConditionError: a condition was false. It has the current item. Nothing
//     was written.
//   - ErrReleased: it had been released; *LostError, which matches ErrLost: it
//     had been lost, or the item was deleted. Nothing was written.
//   - *UnknownOutcomeError: no answer came, and the update and the release may
//     have been made together, or may yet be, as long as the lock is held: as
//     for ReleaseWith.
//   - Any other is the table's, and nothing was written.
//
// Conflicts with transactions, throttles and lost answers are retried until ctx
// or the lock ends, or the client is closed. No attempt is made after another,
// since each takes the holder out of the item: one that is refused because an
// earlier one was made says that it was. The item is then returned as it stands
// at that time, perhaps with changes of those who had the lock next. Which of two
// calls it was, if the first had no answer, that does not say: the outcome of
// the second is unknown too. Where somebody has deleted the item meanwhile, that cannot be told, and the outcome
// is unknown. (An operator who has removed the holder by hand at that time is not
// told from it.) Heartbeats go on meanwhile. Another release of the same lock waits
// for this one.
func (l *ItemLock) UpdateAndRelease(ctx context.Context, update expression.UpdateBuilder, cond ...expression.ConditionBuilder) (map[string]types.AttributeValue, error) {
	const what = "update and release"
	users, err := l.usersUpdate(update, cond)
	if err != nil {
		return nil, fmt.Errorf("queuelock: UpdateAndRelease: %w", err)
	}
	p, err := l.part(ctx, what)
	if err != nil {
		return nil, err
	}
	defer p.end()
	form, queued := p.form(), false
	for retries := retry.For(0); ; {
		rec, err := serving.UpdateAndRelease(p.held, l.queue, form, l.id, l.ticket, users)
		_, held := rec.Held(l.id, l.ticket)
		switch {
		case err == nil:
			p.made(!queued && form == serving.FormHandOff && len(rec.Holders) == 0 && rec.Quiet(l.ticket))
			return l.queue.Home.Strip(rec.Item), nil
		case errors.Is(err, serving.ErrRefused) && !held && !p.open:
			return nil, p.gone(rec)
		case errors.Is(err, serving.ErrRefused) && !held && p.before != partingUnknown && p.Err() == nil && !p.byOthers(rec):
			// Nobody could have taken the holder out yet: an attempt of this
			// call's own has, and its answer was lost. (Or that of an earlier call:
			// which of them, nothing tells.)
			p.made(false)
			return l.queue.Home.Strip(rec.Item), nil
		case errors.Is(err, serving.ErrRefused) && !held:
			return nil, p.failed(what, errors.New("the lock is not on the item"))
		case errors.Is(err, serving.ErrRefused) && form == serving.FormFast && (len(cond) == 0 || !rec.Fast(l.id, l.ticket)):
			form, queued = serving.FormHandOff, true // somebody has queued
			continue
		case errors.Is(err, serving.ErrRefused) && p.open:
			return nil, p.failed(what, &ConditionError{l.itemKey, l.queue.Home.Strip(rec.Item)})
		case errors.Is(err, serving.ErrRefused):
			return nil, &ConditionError{l.itemKey, l.queue.Home.Strip(rec.Item)}
		}
		p.open = p.open || table.Applied(err, true)
		if !table.Transient(err) || !retries.Pause(p.held) {
			return nil, p.failed(what, err)
		}
	}
}

// usersUpdate builds the caller's expressions, and says what is wrong with them.
func (l *ItemLock) usersUpdate(update expression.UpdateBuilder, cond []expression.ConditionBuilder) (expression.Expression, error) {
	b := expression.NewBuilder().WithUpdate(update)
	switch len(cond) {
	case 0:
	case 1:
		b = b.WithCondition(cond[0])
	default:
		b = b.WithCondition(expression.And(cond[0], cond[1], cond[2:]...))
	}
	users, err := b.Build()
	if err != nil {
		return users, err
	}
	names := table.TopNames(users)
	slices.Sort(names)
	for _, name := range names {
		switch _, key := l.itemKey.Key[name]; {
		case key:
			return users, fmt.Errorf("the update names the item's key attribute %q, which cannot be changed", name)
		case l.queue.Home.Owns(name):
			return users, fmt.Errorf("the update names the lock's own attribute %q", name)
		}
	}
	return users, nil
}
