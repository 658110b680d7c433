package search

import (
	"fmt"

	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/queue"
)

// name names a request.
func (s *search) name(m *msg) string {
	switch l := &m.look; {
	case l.is && l.bare:
		return story.Bare
	case l.is && l.row:
		return fmt.Sprintf("a read of the row of ticket %d", l.below)
	case l.is && l.later:
		return story.Look(maxTicket)
	case l.is && l.own > 0:
		return story.Look(l.own + uint8(l.turns))
	case l.is:
		return story.Look(max(l.below, 1) - 1)
	case m.show:
		return "the answer that x is visible"
	case m.tx:
		return [...]string{"", "TRANSACT x", "TRANSACT y", "TRANSACT z"}[m.call]
	}
	w := &s.items.writes[m.write[0]]
	name := story.Write(w.Write, w.say)
	if m.users {
		name += " with the update"
	}
	if m.write[1] != none {
		name += " and of " + s.items.writes[m.write[1]].say
	}
	return name
}

// timers are the words for timers that fire.
var timers = map[member.TimerKind]story.Step{
	member.Gathers: story.GathersNoLonger, member.Rests: story.Looks, member.Pauses: story.TriesAgain, member.Renews: story.Renews,
	member.RowEnds: story.RowEnds, member.Retries: story.TriesAgain, member.Beats: story.Beats, member.Ends: story.SeesItsEnd,
	member.Reads: story.Reads, member.Repeats: story.TriesAgain, member.Attempts: story.TriesAgain,
}

// usesOf are the words for uses.
var usesOf = map[member.Use]story.Step{
	member.Transacts: story.Transacts, member.SetsData: story.SetsData, member.Downgrades: story.Downgrades, member.Fences: story.Fences,
}

// nameMove names a move, so that it can be found again by its name.
func (s *search) nameMove(w *world, v move) string {
	i, j := int(v.i), int(v.j)
	switch v.kind {
	case wants:
		if n := min(s.Clients[i].Block, s.callersOf(i)-j); n > 1 && s.Clients[i].With == nil {
			return story.WantTogether.Of(n, nameOf(i))
		}
		return story.Wants.Of(s.who(i, j))
	case releases:
		return story.Releases.Of(s.who(i, j))
	case fires:
		return timers[v.timer.Kind].Of(nameOf(i))
	case looksSlowly:
		return story.LooksSlowly.Of(nameOf(i))
	case rings:
		return story.Rings.Of(nameOf(i))
	case gives:
		return story.GivesUp.Of(s.who(i, j))
	case stops:
		return story.StopsTrying.Of(s.who(i, j))
	case dies:
		return story.Crashes.Of(nameOf(i))
	case sleeps:
		return story.Sleeps.Of(nameOf(i))
	case evicts:
		return story.Evicts.Of(s.items.recs[w.rec].Holders[i].ID)
	case asks:
		return story.Asks.Of(s.items.recs[w.rec].Holders[i].ID)
	case erases:
		return story.Erased.Of()
	case declines:
		return story.Declines.Of()
	case readsOf:
		return story.ReadsX.Of(s.who(i, j))
	case uses:
		return usesOf[member.Use(j%8)].Of(s.who(i, j/8))
	case updates:
		return story.Updates.Of(s.who(i, j))
	case showsRecord:
		return story.RecordShows.Of(nameOf(i))
	case showsX:
		return story.XShows.Of(nameOf(i))
	case forgets:
		return story.Forgotten.Of(s.who(i, j))
	}
	return s.nameFate(v.kind, &w.net[i])
}

// fates are the words for what happens to messages.
var fates = map[moveKind]story.Step{
	delivers: story.Arrives, slows: story.ArrivesSlowly, drops: story.Lost, mutes: story.Mute, fails: story.Throttled, delays: story.Late, copies: story.Copied,
}

func (s *search) nameFate(k moveKind, m *msg) string {
	what := story.By(s.name(m), nameOf(int(m.node)))
	switch {
	case m.role == stray:
		what = "the late " + what
	case m.role == operators:
		what = "the operator's " + what
	}
	if k == delivers && m.answer {
		return story.AnswerArrives.Of(what)
	}
	return fates[k].Of(what)
}

// nameAnswer names an answer.
func (s *search) nameAnswer(m *msg) string {
	switch {
	case m.look.row:
		if m.next == none {
			return "no row"
		}
		return s.items.rows[m.next].ID
	case m.look.is && m.look.bare:
		return s.nameRecord(m.rec)
	case m.look.is:
		var rows []string
		for _, r := range s.items.lists[m.rows] {
			rows = append(rows, s.items.rows[r].ID)
		}
		return s.nameRecord(m.rec) + story.Ahead(rows)
	}
	fate := story.Fate(queue.Reply(m.reply))
	if m.write[0] != none && s.items.writes[m.write[0]].row > 0 {
		return fate
	}
	return fate + "; " + s.nameRecord(m.rec)
}

func (s *search) nameRecord(n int32) string {
	if !s.Half {
		return story.Record(&s.items.recs[n], nil)
	}
	return story.Record(&s.items.recs[n], func(l queue.Lease) string { return fmt.Sprintf(" until %d", clockOf(l.Until)) })
}
