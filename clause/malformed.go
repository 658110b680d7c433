package clause

import (
	"fmt"

	"github.com/queuelock/queuelock/internal/quote"
)

// MalformedError says that an item in the queue was not written by this library. Such
// an item is never taken for a lock, and nothing of it is overwritten but the ticket number of a record.
type MalformedError struct {
	Item      string // what and where: `serving record of "order-7 lock"`
	Attribute string // the attribute's path
	Problem   string // what was found and what is needed
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("malformed %s: attribute %s %s: correct it while no client runs, or use another Reason",
		e.Item, quote.Text(e.Attribute), e.Problem)
}
