package queue

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
	return fmt.Sprintf("malformed %s: attribute %s %s", e.Item, quote.Text(e.Attribute), e.Problem)
}

// TableError says that the table is missing or has other keys than queues need.
type TableError struct {
	Table string
	Found string // what is there
	Need  string // what is needed
	Err   error  // DynamoDB's own words, or nil
}

func (e *TableError) Error() string {
	return fmt.Sprintf("table %q cannot be used: found %s, need %s", e.Table, e.Found, e.Need)
}

func (e *TableError) Unwrap() error { return e.Err }
