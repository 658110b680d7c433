package machine

import (
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/queue"
)

// read takes the record after the loss of a lock with a lock delay, which counts from the end of the lease: the entry
// keeps the queue closed. If it cannot be read, it is removed: after the delay, or at once if the caller has released
// the lock in time, but no request got through.
func (s releaseStep) read(e HoldEvent) HoldDo {
	c, g := s.c, s.grant
	entry, _ := e.Record.Mine(g.ID)
	if entry.Unreadable() {
		s.hidden = entry.Problem
	}
	switch remains := entry.Unreadable() || s.unseen(e.Err); {
	case c.kind == clears && !remains:
		return s.end(PhaseCleared, HoldLost, nil)
	case c.kind == clears:
		c.removing = true
		if at := e.Deadline.Add(g.Margin + g.Delay); at.After(s.now.Local) {
			return HoldDo{Do: HoldWait, At: at}
		}
		return s.remove()
	case e.Err == nil && s.outcome(e.Record).Released():
		return s.end(PhaseReleased, HoldMade, nil)
	case entry.Unreadable():
		return s.remove()
	case e.Err != nil && s.hidden != nil:
		c.removing = true
		return s.end(PhaseHeld, HoldFailed, e.Err)
	}
	return s.end(PhaseCleared, HoldUnreachable, fmt.Errorf(
		"its lease of %v ended before a release got through; others may have to wait for its lock delay of %v", g.TTL,
		g.Delay))
}

// remove removes the entry: one that a late TAKE has put into the record after the lock had left, or one that cannot be
// read. No other client removes that, and no lease ends it, so the lock has not ended until it is removed.
func (s releaseStep) remove() HoldDo {
	c := s.c
	if c.kind == clears && s.hidden != nil {
		c.limit = s.now.Local.Add(s.grant.Patience)
	}
	c.removing = true
	return HoldDo{Do: HoldSend, Write: queue.Remove(s.grant.ID), Limit: c.limit}
}

// removed takes the answer to the removal of the entry.
func (s releaseStep) removed(e HoldEvent) HoldDo {
	done := e.Reply == ReplyApplied || e.Reply.refused()
	switch {
	case !done && s.hidden != nil:
		return HoldDo{Do: HoldPause, Limit: s.c.limit, Err: e.Err}
	case !done && s.grant.FailClosed:
		return s.end(PhaseHeld, HoldFailed, e.Err)
	}
	do := s.end(PhaseCleared, HoldLost, nil)
	if s.hidden != nil {
		do.Result, do.Err = HoldUnreachable, s.hidden
	}
	if done && (e.Reply == ReplyApplied || len(e.Record.Holders) == 0) { // perhaps by a copy of itself
		do.After = AfterWake
	}
	return do
}

// unseen reports whether a request that failed with err has not shown an entry which could not be read before.
func (s releaseStep) unseen(err error) bool {
	_, record := errors.AsType[*clause.MalformedError](err)
	return err != nil && !record && s.hidden != nil
}
