package machine

// Transaction is the machine of one fenced transaction, under one lock or several: from its first attempt until its
// outcome is known. Step takes what has happened, and returns what to do next.
//
// A record asks for the number of the transaction, so that it is made once, however late an attempt arrives. Each
// attempt also has a token, with which DynamoDB answers a repeated attempt as it has answered the first: while it
// remembers the token, a refusal proves that no earlier attempt with it was made.
type Transaction struct {
	asked   TransactionAction // what it waits for
	doubt   doubt             // of all attempts so far
	renew   bool              // the next attempt has a new token
	renamed bool              // it was sent with another token before
	err     error             // of the last attempt
}

// doubt is what the answers to the attempts do not prove.
type doubt int

const (
	noDoubt    doubt = iota // each attempt was refused, which proves that it was not made
	unproven                // an attempt was refused by what proves nothing: the transport may have sent a copy before
	unanswered              // an attempt had no answer: it may have been made, or may yet be
)

// TransactionEvent is what has become of what a [Transaction] has asked for.
type TransactionEvent struct {
	Err error // nil: it was done
	// Of an attempt: DynamoDB takes it for another one with its token, which it remembers at most until Forgotten; it may
	// succeed later; it had no answer.
	Mismatch, Forgotten, Transient, Open bool
	// Fenced: a record has refused it, which says Made, or is Malformed.
	Fenced, Malformed bool
	Made              Made // also of TransactSettle
}

// TransactionDo is what to do next.
type TransactionDo struct {
	Do     TransactionAction
	Renew  bool // the attempt has a new token
	Result TransactionResult
	Err    error            // of TransactPause and of the result
	Left   TransactionState // after TransactDone, for its locks
}

// TransactionAction is what to do next.
type TransactionAction int

// The actions.
const (
	TransactBegin TransactionAction = iota // nothing was asked for
	TransactSend                           // send an attempt
	TransactPause                          // before the next attempt; the Err of the answer says that there is to be none
	TransactShow                           // wait until what was made is visible
	// ask the record whether it was made, prevent it from being made later, and wait until it is visible
	TransactSettle
	TransactDone // it is over; see Result
)

// TransactionResult is the result of a transaction.
type TransactionResult int

// The results.
const (
	TransactMade    TransactionResult = iota // and visible
	TransactFailed                           // never made, because of Err
	TransactLost                             // the same: a lock is not held any more
	TransactUnknown                          // it may have been made, may yet be, or is not visible yet
)

// Step takes what has happened and returns what to do next. It has no other effect.
func (t *Transaction) Step(e TransactionEvent) TransactionDo {
	switch t.asked {
	case TransactBegin:
		t.renew = true
		return t.ask(TransactSend)
	case TransactSend:
		t.err = e.Err
		return t.answered(e)
	case TransactPause:
		if e.Err == nil {
			return t.ask(TransactSend)
		}
		return t.failed()
	case TransactShow:
		if e.Err == nil {
			return t.done(TransactMade, nil)
		}
		return t.done(TransactUnknown, e.Err)
	}
	switch e.Made {
	case MadeYes:
		return t.done(TransactMade, nil)
	case MadeUnknown:
		return t.done(TransactUnknown, t.err)
	}
	return t.done(TransactFailed, t.err)
}

// answered takes the answer to an attempt.
func (t *Transaction) answered(e TransactionEvent) TransactionDo {
	switch {
	case e.Mismatch: // some engines take a repeated attempt for another one; its number guards against a second
		t.doubt = unanswered
		return t.again(true)
	case e.Open:
		t.doubt = unanswered
	case e.Transient, e.Malformed:
		t.doubt = max(t.doubt, unproven)
	}
	switch {
	case e.Err == nil:
		return t.done(TransactMade, nil)
	case e.Fenced && e.Made == MadeYes:
		return t.ask(TransactShow)
	case e.Fenced && e.Made == MadeUnknown && (t.renamed || e.Forgotten):
		return t.done(TransactUnknown, e.Err)
	case e.Fenced && e.Made != MadeNotYet:
		return t.done(TransactLost, e.Err)
	case e.Fenced, e.Transient:
		// With every attempt cancelled none is under way, unless the transport has a copy.
		return t.again(t.doubt < unanswered)
	}
	return t.failed()
}

func (t *Transaction) again(renew bool) TransactionDo {
	t.renew, t.renamed = renew, t.renamed || renew
	return t.ask(TransactPause)
}

// failed ends the attempts. If one may have been made, the record is asked.
func (t *Transaction) failed() TransactionDo {
	if t.doubt > noDoubt {
		return t.ask(TransactSettle)
	}
	do := t.done(TransactFailed, t.err)
	do.Left = TransactionRefused
	return do
}

func (t *Transaction) ask(a TransactionAction) TransactionDo {
	do := TransactionDo{Do: a, Err: t.err}
	if a == TransactSend {
		do.Renew, t.renew = t.renew, false
	}
	t.asked = a
	return do
}

func (t *Transaction) done(r TransactionResult, err error) TransactionDo {
	do := t.ask(TransactDone)
	if do.Result, do.Err = r, err; r == TransactUnknown {
		do.Left = TransactionUnsettled
	}
	return do
}
