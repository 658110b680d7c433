package waiter

import (
	"time"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/ticket"
)

// Status is what a waiter last saw of its queue, by its own look, or by that of
// another waiter of its client.
type Status struct {
	Ticket  ticket.Number // zero: none was taken
	Ahead   int           // waiters ahead, see localqueue.Waiter.Ahead
	Serving []serving.Holder
	SeenAt  time.Time // on the local clock
	Blocked error     // what is wrong with a row ahead, or a holder, that cannot be read
	Failure error     // the last request's error, that of leaving included, if the table did not answer
}
