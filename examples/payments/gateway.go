package payments

import (
	"context"
	"errors"
)

// Gateway takes money. It is slow, and its answers can be lost.
type Gateway interface {
	// Charge takes the amount, at most once for a key. A second call with the same key
	// and amount returns the outcome of the first, and another amount is ErrKeyUsed. A
	// declined card is an outcome and no error. After any other error the money may
	// have been taken, or may yet be.
	Charge(ctx context.Context, key string, amount int64) (Outcome, error)

	// Find returns the outcome of the charge with the key, or false if there is none.
	// The gateway keeps charges permanently, while it may forget keys of requests after
	// a day.
	Find(ctx context.Context, key string) (Outcome, bool, error)
}

// Outcome is the final result of a charge.
type Outcome struct {
	Charge   string // the gateway's id
	Amount   int64  // what was taken, or asked for
	Declined string // why it was not taken; empty if it was
}

// ErrKeyUsed says that a charge of another amount has the key. Find returns it.
var ErrKeyUsed = errors.New("payments: the key has been used for another amount")

// key returns the gateway's name for a charge of the intent. It comes from the intent
// alone: with the number of the attempt or the amount in it, a repetition could be a
// second charge.
func (i Intent) key() string { return "payment/" + i.ID }

// charge charges the intent, or finds the charge of an earlier call. It asks first,
// because a process may have crashed between the charge and its record, longer ago than
// the gateway remembers keys of requests.
func charge(ctx context.Context, gateway Gateway, i Intent) (Outcome, error) {
	outcome, found, err := gateway.Find(ctx, i.key())
	if err != nil || found {
		return outcome, err
	}
	return gateway.Charge(ctx, i.key(), i.Amount)
}

// settled returns the intent after the outcome, with the amount that the gateway took.
func (i Intent) settled(o Outcome) Intent {
	i.Charge = o.Charge
	if o.Declined != "" {
		i.State, i.Reason = ChargeFailed, o.Declined
		return i
	}
	i.State, i.Amount = Charged, o.Amount
	return i
}
