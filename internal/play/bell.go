package play

import (
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/queue"
)

// Bell hangs the bell of a block.
func (c clock) Bell(block int32) string {
	b := c.c.Local.Hang()
	if b == nil {
		return ""
	}
	if c.bells == nil {
		c.bells = map[int32]*handover.Bell{}
	}
	p := c.player
	p.bells[block] = b
	b.Wakes(func() { p.happens(rings{block: block}) })
	return b.Text()
}

// rings takes the bell of a block: the end of the rest of the first that waits, or, if the block holds, a read of the record for a
// holder that waits to be asked to give way.
func (p *player) rings(of int32) {
	if b := p.m.Block(of); b.Turn >= 0 {
		p.readsMark(b)
		return
	}
	for b := range p.m.Blocks() {
		if s := p.sights[b.N]; s != nil && b.Turn < 0 && !b.Behind {
			s.rang = true
			p.heeds(b.N, s)
			return
		}
	}
}

// heeds lets a bell end the rest of a block. One that comes during a look is judged with that.
func (p *player) heeds(block int32, s *sight) {
	for _, t := range p.m.Timers() {
		if t.Kind == member.Rests && t.Of == block && s.rang {
			s.rang = false
			s.heeds = s.heard.Heed(&s.pace, p.c.Schedule, p.dueAt(t))
		}
	}
}

// judge compares what the bell has said with what a look shows. before are the holders of the one before.
func (s *sight) judge(w *queue.Wait, before, now []queue.Holder) {
	s.heard.Judge(&s.pace, w.Ticket, before, now, s.rings(w, before), func() bool {
		came := s.rang
		s.rang = false
		return came
	})
}

// woken says that turns may have ended without a bell.
func (p *player) woken() {
	for _, s := range p.sights {
		s.heard.Woken()
	}
}

// ring rings the next waiter with a release. If the holder has not read its row, that is read beside the release: the bell is late by a
// round trip then, and still earlier than most looks.
func (p *player) ring(e member.Ring) {
	q := p.queue
	switch {
	case !p.c.Local.Bells(), e.Next.IsZero(), p.m.Has(e.Next):
	case e.Row != nil:
		p.c.Local.Ring(e.Row.Bell)
	default:
		ctx := p.fork()
		p.c.Background(func() {
			if row, _ := rows.Get(ctx, q, e.Next); row != nil {
				p.c.Local.Ring(row.Bell)
			} // else a look takes its place
		})
	}
}
