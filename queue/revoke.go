package queue

import (
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/ticket"
)

// MaxWhy is the largest size of the reason of a [Revocation], in bytes. All heartbeats of the holder write it again.
const MaxWhy = 256

// Revocation is a request to a holder to give way. It does not end the turn: the holder releases the lock when it can.
type Revocation struct {
	By  string    // the Config.Owner of the client that asks
	Why string    // for people; empty if it was not said
	At  time.Time // on DynamoDB's clock; zero if that was not known
	// Deadline is the time until which the holder should have released the lock, on DynamoDB's clock; zero: none. Nothing
	// happens then by itself: an operator may evict the holder.
	Deadline time.Time
}

func (r Revocation) attribute() clause.Value {
	item := clause.Item{attr.By: clause.String(r.By)}
	if r.Why != "" {
		item[attr.Why] = clause.String(r.Why)
	}
	clause.SetTime(item, attr.At, r.At)
	clause.SetTime(item, attr.Deadline, r.Deadline)
	return clause.Map(item)
}

// decodeRevocation reads the mark of an entry. One that another program has written, and that cannot be read, is none:
// a later request replaces it.
func decodeRevocation(entry clause.Item) *Revocation {
	r := &clause.Reader{Item: entry}
	if !r.Has(attr.Revoked) {
		return nil
	}
	r.Item = r.Map(attr.Revoked)
	mark := Revocation{
		By: r.Text(attr.By), Why: r.OptionalText(attr.Why),
		At: r.OptionalTime(attr.At), Deadline: r.OptionalTime(attr.Deadline),
	}
	if r.Err != nil || len(mark.By) > MaxOwner || len(mark.Why) > MaxWhy {
		return nil
	}
	return &mark
}

// Revoke asks the holder id with ticket t to give way. It changes nothing that another write asks for, and a copy that
// comes late is refused after the turn.
func Revoke(id string, t ticket.Number, r Revocation) clause.Write {
	return clause.Write{
		Name: "REVOKE", If: []clause.Cond{isHolder(id), servedAs(id, t)},
		Do: []clause.Change{entry(id).Field(attr.Revoked).Set(clause.V(r.attribute()))}, Else: clause.Lost,
	}
}
