package serving

import (
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

var (
	zero = expression.Value(table.Int(0))
	one  = expression.Value(table.Int(1))
)

// names are the paths of one queue's record. Its methods return conditions on them.
type names struct {
	ticketNumber, servingAfter, granted, holders, turn, holdMode, permits, scope, released, evicted expression.NameBuilder
}

func namesOf(q table.Queue) names {
	// A user's prefix may hold dots.
	path := func(name string) expression.NameBuilder { return expression.NameNoDotSplit(q.Attr(name)) }
	return names{
		ticketNumber: path(table.AttrTicketNumber),
		servingAfter: path(table.AttrServingAfter),
		granted:      path(table.AttrGranted),
		holders:      path(table.AttrHolders),
		turn:         path(table.AttrTurn),
		holdMode:     path(table.AttrHoldMode),
		permits:      path(table.AttrPermits),
		scope:        path(table.AttrScope),
		released:     path(table.AttrReleased),
		evicted:      path(table.AttrEvicted),
	}
}

// entry returns the path of a holder's entry. An id of another program may hold dots.
func (n names) entry(id string) expression.NameBuilder {
	return n.holders.AppendName(expression.NameNoDotSplit(id))
}

func (n names) field(id, attribute string) expression.NameBuilder {
	return n.entry(id).AppendName(expression.Name(attribute))
}

func (n names) isHolder(id string) expression.ConditionBuilder {
	return n.entry(id).AttributeExists()
}

// noHolder returns the condition that holders is {}. The size of a missing attribute
// compares false.
func (n names) noHolder() expression.ConditionBuilder { return n.holders.Size().Equal(zero) }

func (n names) alone() expression.ConditionBuilder { return n.holders.Size().Equal(one) }

func number(n ticket.Number) expression.ValueBuilder { return expression.Value(n.Attribute()) }
