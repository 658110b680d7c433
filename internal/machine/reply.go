package machine

// Reply is what a client has learned of a request that it sent: that is what a machine hears of it. Those before
// ReplyFailed show the record.
type Reply int

// The replies.
const (
	ReplyApplied        Reply = iota // it was applied, and returned what it left
	ReplyMade                        // it was refused because what it does was done before, or is outrun by a later write
	ReplyRefused                     // it was refused, and returned what it met
	ReplyRefusedForGood              // it was refused, and will never be applied
	ReplyFailed                      // it was not applied, and never will be
	ReplyUnknown                     // it had no answer: it may have been applied, or may yet be
	// ReplyContradicted: it was refused by what meets all of its conditions, and is not applied.
	ReplyContradicted
)

// refused reports whether the request returned what it met.
func (r Reply) refused() bool { return r == ReplyMade || r == ReplyRefused || r == ReplyRefusedForGood }
