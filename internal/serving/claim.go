package serving

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Claim lets ticket t, whose turn its owner believes it is, be served: the
// grant is this one conditional write, never a read that looked as if it were
// one's turn. Granted if nobody is being served, and neither t nor any later
// ticket ever was:
//
//	SET holders.#id = {ticket: t, …}, granted = t, holdMode = "exclusive"
//	if size(holders) = 0 AND granted < t AND servingAfter < t - 1
//
// One who shares sets holdMode to "shared", and asks for size(holders) = 0 OR
// holdMode = "shared". At a semaphore size(holders) < permits is asked, and
// there is no holdMode.
//
// On an item of the user's own, which may have been deleted and made anew with
// another counter, ticketNumber >= t is asked as well.
//
// On success it returns the record, with the entry in it. Refused, ErrRefused
// and the record: the caller's own id in it means that an earlier answer was
// lost. One request; the SDK client's own retries are off, so that a refusal
// says for certain that this id did not get there. Calling again is safe;
// after any other error the entry may be in the record or may get there late,
// and must be looked for, or removed with Remove.
func Claim(ctx context.Context, q table.Queue, e Entry, t ticket.Number) (Record, error) {
	n, item := namesOf(q), e.item()
	item[table.AttrTicket] = t.Attribute()
	update := expression.Set(n.entry(e.ID), expression.Value(table.Map(item))).Set(n.granted, number(t))
	if e.Mode.Permits == 0 {
		update = update.Set(n.holdMode, expression.Value(table.String(e.Mode.String())))
	}
	condition := n.admits(e.Mode).
		And(n.granted.LessThan(number(t))).
		And(n.servingAfter.LessThan(number(t.Previous())))
	if q.Home != nil {
		condition = condition.And(n.ticketNumber.GreaterThanEqual(number(t)))
	}
	return grant(ctx, q, update, condition)
}
