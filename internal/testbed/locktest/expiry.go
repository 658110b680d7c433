package locktest

import (
	"time"

	"github.com/queuelock/queuelock/queuelocktest"
)

// TakenOverWithin is the longest time between the end of a crashed holder's lease
// and the next grant.
const TakenOverWithin = 1500 * time.Millisecond

// Judged names the two ways of judging that a lease has expired, and the options
// of a table on which clients use them.
var Judged = map[string][]queuelocktest.Option{"by the clock": nil, "by observation": {queuelocktest.WithoutDate()}}
