package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Pessimistic charges under a lock on the intent. Other calls that charge or change it
// wait in order until the gateway has answered.
type Pessimistic struct {
	Store   Store
	Gateway Gateway
	Locks   *queuelock.Client
	Wait    waitpolicy.Wait // for the lock
}

// gatewayTimeout is how long a lock is held for the gateway.
const gatewayTimeout = 2 * time.Minute

// Charge charges the intent with the amount that it has once it is locked. It returns
// the intent, CHARGED or CHARGE_FAILED, by this call or an earlier one. After an error
// the money may have been taken: call it again from any process. ErrOtherAmount says
// that an earlier call took the amount before it was changed.
func (p *Pessimistic) Charge(ctx context.Context, id string) (after Intent, err error) {
	lock, err := p.lock(ctx, id)
	if err != nil {
		return Intent{}, err
	}
	defer func() { err = errors.Join(err, lock.Release(ctx)) }()
	if lock.intent.State != Created {
		return lock.intent, nil
	}
	// This context ends with the lock and not with the caller's, because a charge that
	// is under way may have been made already.
	held, cancel := context.WithTimeout(lock.Context(), gatewayTimeout)
	defer cancel()
	outcome, err := charge(held, p.Gateway, lock.intent)
	if err != nil {
		return lock.intent, err
	}
	after = lock.intent.settled(outcome)
	if err := lock.saveAndRelease(held, after); err != nil {
		return lock.intent, err
	}
	if after.Amount != lock.intent.Amount {
		return after, fmt.Errorf("%w: intent %s had %d, taken were %d", ErrOtherAmount, id, lock.intent.Amount, after.Amount)
	}
	return after, nil
}

// ChangeAmount changes the amount of an intent that is not charged. It waits during a
// charge, and returns ErrTooLate after it.
func (p *Pessimistic) ChangeAmount(ctx context.Context, id string, amount int64) (after Intent, err error) {
	lock, err := p.lock(ctx, id)
	if err != nil {
		return Intent{}, err
	}
	defer func() { err = errors.Join(err, lock.Release(ctx)) }()
	after = lock.intent
	if after.State == Created {
		// A process may have crashed between the charge and its record.
		outcome, found, err := p.Gateway.Find(ctx, after.key())
		switch {
		case err != nil:
			return after, err
		case found:
			after = after.settled(outcome)
		default:
			after.Amount = amount
		}
		if err := lock.saveAndRelease(ctx, after); err != nil {
			return lock.intent, err
		}
	}
	if after.State != Created {
		return after, fmt.Errorf("%w: intent %s is %s", ErrTooLate, id, after.State)
	}
	return after, nil
}

// lockedIntent is an intent, and the lock under which it was read.
type lockedIntent struct {
	*queuelock.ItemLock
	intent Intent
}

// lock waits for the intent's lock, which returns the intent: one request if no other
// client holds it.
func (p *Pessimistic) lock(ctx context.Context, id string) (*lockedIntent, error) {
	lock, err := p.Locks.LockItem(ctx, queuelock.ItemKey{Table: p.Store.Table, Key: intentKey(id)}, p.Wait)
	if errors.Is(err, queuelock.ErrNoItem) {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil {
		return nil, err
	}
	intent, err := decode(lock.Item())
	if err != nil {
		return nil, errors.Join(err, lock.Release(ctx))
	}
	return &lockedIntent{lock, intent}, nil
}

// saveAndRelease writes the intent and releases the lock, both or neither, only if the
// lock is still held. The error matches queuelock.ErrLost otherwise.
func (l *lockedIntent) saveAndRelease(ctx context.Context, i Intent) error {
	_, err := l.UpdateAndRelease(ctx, expression.
		Set(expression.Name("amount"), expression.Value(number(i.Amount))).
		Set(expression.Name("state"), expression.Value(text(string(i.State)))).
		Set(expression.Name("charge"), expression.Value(text(i.Charge))).
		Set(expression.Name("reason"), expression.Value(text(i.Reason))))
	return err
}
