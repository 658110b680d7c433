package counter

import (
	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/ticket"
)

func (c Counter) WriteRaise(to ticket.Number) clause.Write { return c.raise(to) }
