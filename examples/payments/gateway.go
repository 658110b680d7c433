package payments

import (
	"context"
	"errors"
)

// Gateway takes money. It is slow, and its answers can be lost.
type Gateway interface {
	// Charge takes the amount, at most once for a key: a second call with the
	// key and the amount gives the outcome of the first, and one with another
	// amount ErrKeyUsed. A card that is declined is an outcome, and no error.
	// After any other error the money may have been taken, or may yet be.
	Charge(ctx context.Context, key string, amount int64) (Outcome, error)

	// Find says what became of the charge with the key, for as long as the
	// gateway keeps charges. That is for good, while keys of requests are
	// often forgotten after a day. False: nothing has yet.
	Find(ctx context.Context, key string) (Outcome, bool, error)
}

// Outcome is what became of a charge. It is final.
type Outcome struct {
	Charge   string // the gateway's id
	Amount   int64  // what was taken, or asked for
	Declined string // why it was not taken; empty if it was
}

// ErrKeyUsed says that a charge of another amount has the key: Find has it.
var ErrKeyUsed = errors.New("payments: the key has been used for another amount")

// key is what the gateway knows a charge of the intent by. It comes from the
// intent alone. With the number of the attempt in it, a repetition would be a
// second charge; with the amount in it, one before a change of the amount and
// one after would be two.
func (i Intent) key() string { return "payment/" + i.ID }

// charge has the intent's money taken, by this call or an earlier one, of this
// process or another. It asks first: a process may have died between the charge
// and its record, longer ago than the gateway remembers the keys of requests.
func charge(ctx context.Context, gateway Gateway, i Intent) (Outcome, error) {
	outcome, found, err := gateway.Find(ctx, i.key())
	if err != nil || found {
		return outcome, err
	}
	return gateway.Charge(ctx, i.key(), i.Amount)
}

// settled is the intent after the outcome. The amount is what was taken, which
// the gateway knows, and not what was asked for.
func (i Intent) settled(o Outcome) Intent {
	i.Charge = o.Charge
	if o.Declined != "" {
		i.State, i.Reason = ChargeFailed, o.Declined
		return i
	}
	i.State, i.Amount = Charged, o.Amount
	return i
}
