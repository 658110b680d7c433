package search

import (
	"fmt"

	"github.com/queuelock/queuelock/internal/machine"
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
	case m.role == counter:
		return "NUMBER"
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
	member.Joins: story.Joins,
}

// words are those for the other moves.
var words = map[moveKind]story.Step{
	wants: story.Wants, releases: story.Releases, gives: story.GivesUp, stops: story.StopsTrying, readsOf: story.ReadsX,
	updates: story.Updates, numbers: story.Numbers, saves: story.Saves, quits: story.Leaves, again: story.SendsAgain, ceases: story.SendsNoMore, forgets: story.Forgotten, looksSlowly: story.LooksSlowly, rings: story.Rings, dies: story.Crashes,
	sleeps: story.Sleeps, showsRecord: story.RecordShows, showsX: story.XShows, evicts: story.Evicts, asks: story.Asks,
	erases: story.Erased, declines: story.Declines, delivers: story.Arrives, slows: story.ArrivesSlowly, drops: story.Lost,
	mutes: story.Mute, fails: story.Throttled, delays: story.Late, copies: story.Copied,
}

// nameMove names a move, so that it can be found again by its name.
func (s *search) nameMove(w *world, v move) string {
	i, j := int(v.i), int(v.j)
	switch k := v.kind; {
	case k == wants && s.Clients[i].With == nil && min(s.Clients[i].Block, s.callersOf(i)-j) > 1:
		return story.WantTogether.Of(min(s.Clients[i].Block, s.callersOf(i)-j), nameOf(i))
	case k == fires:
		return timers[v.timer.Kind].Of(nameOf(i))
	case k == uses:
		return usesOf[member.Use(j%8)].Of(s.who(i, j/8))
	case k == erases, k == declines:
		return words[k].Of()
	case k == evicts, k == asks:
		return words[k].Of(s.items.recs[w.rec].Holders[i].ID)
	case k <= forgets:
		return words[k].Of(s.who(i, j))
	case k < delivers:
		return words[k].Of(nameOf(i))
	}
	return s.nameFate(v.kind, &w.net[i])
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
	return words[k].Of(what)
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
	fate := story.Fate(machine.Reply(m.reply))
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
