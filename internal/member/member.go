package member

import (
	"iter"
	"slices"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Member is one client in one queue.
type Member struct {
	cfg      *Config
	queue    Queue
	gathered []caller
	until    time.Time // they gather until then; zero: they need not
	blocks   []*block  // in the order of tickets; those without one are anywhere
	rows     []*row    // in the order of their numbers
	asks     []ask     // requests under way; the number of one is its index
	ids      int32     // numbers of blocks and rows so far
	first    int32     // the block that was the first at the end of the last step
	woken    bool      // a turn has ended: the first may act
	latest   *shown    // by answers; nil: none, or nothing waits that needs it
}

// shown is a record, and when an answer has shown it.
type shown struct {
	record queue.Record
	readAt time.Time
}

// Config is what all members of a client have in common. It is constant.
type Config struct {
	Most     int  // callers of a block
	Names    bool // a release may grant the lock to a row that was read
	Retakes  bool // a release may take tickets for those that gather
	Gather   time.Duration
	Linger   time.Duration
	Patience time.Duration // with requests that end a lock whose lease has ended
	Arrival  time.Duration // after which a request that was given up has arrived, if it ever does
}

// Queue is the queue of a member. It is constant.
type Queue struct {
	Items  *queue.Items
	Forget time.Duration // after which its idle record may be deleted; zero: never
}

// Kind is how a caller wants the lock. It is constant. Callers with equal kinds may wait together.
type Kind struct {
	Owner, Data string
	Mode        queue.Mode
	NoWait      bool
	Policy      machine.Policy
	FailClosed  bool
	TTL, Margin time.Duration
	Delay       time.Duration
	AtLeast     time.Duration
	Interval    time.Duration // between heartbeats; zero: there are none. The Clock alone uses it, RowTTL and Grace
	RowTTL      time.Duration // of the lease of the row
	Keep        time.Duration // after a wait that has ended, the place stays for so long; zero: it does not
	Grace       time.Duration // with FailClosed, the lease of the grant until it is confirmed
	Resume      *queue.Handle
	Wanted      *machine.Wanted
	Scope       ticket.Scope
	Home        bool          // the record is kept on a user's item
	Create      bool          // that may be missing
	Whole       bool          // the lease must begin with its whole length
	Puts        bool          // no request but ENQUEUE follows the ticket before the row is in the table. Placed says that
	Common      bool          // its ticket is that of other queues, too: it takes no other one
	Number      ticket.Number // that ticket; zero: the counter issues it
	Saves       bool          // its handle is saved before the row is put: see Saved
}

// caller is one that gathers.
type caller struct {
	id   int32
	kind *Kind
}

func (a caller) like(b caller) bool { return a.kind == b.kind || *a.kind == *b.kind }

// New returns a member without callers.
func New(c *Config, q Queue) Member { return Member{cfg: c, queue: q} }

// step is one step of a member.
type step struct {
	*Member
	c    Clock
	now  time.Time
	rec  queue.Record // of the answer that it takes
	sent time.Time    // of the request of that
	out  []Effect
}

// Step takes what has happened, and returns what to do. It has no other effect.
func (m *Member) Step(c Clock, e Event) []Effect {
	s := &step{Member: m, c: c, now: c.Now()}
	switch e := e.(type) {
	case Wants:
		for _, id := range e.Callers {
			m.gathered = append(m.gathered, caller{id, e.Kind})
		}
	case GivesUp:
		line{s}.givesUp(e.Caller)
	case Releases:
		if h, ok := s.holder(e.Caller); ok {
			h.release().releases(e)
		}
	case Uses:
		s.uses(e)
	case Forgets:
		if h, ok := s.holder(e.Caller); ok && !h.h.calls && !h.h.hold.Phase().Held() {
			h.b.gone = true
		}
	case Stops:
		if h, ok := s.holder(e.Caller); ok {
			h.use().stopsOne(e.N)
		}
	case Answer:
		s.answered(e)
	case Saved:
		s.saved(e.Caller)
	case Due:
		s.due(e.Timer)
	case Rung:
		m.woken = true
	}
	for again := true; again; { // what follows from what is there now, whatever has happened
		line{s}.goOn()
		again = line{s}.leads()
	}
	m.blocks = slices.DeleteFunc(m.blocks, func(b *block) bool { return b.gone && !m.hasRow(b) })
	if len(m.asks) == 0 && len(m.gathered) == 0 && !slices.ContainsFunc(m.blocks, func(b *block) bool {
		return b.held == nil
	}) {
		m.latest = nil // the answers to come show it, and it needs much memory
	}
	return s.out
}

func (s *step) do(e Effect) { s.out = append(s.out, e) }

func (m *Member) number() int32 {
	m.ids++
	return m.ids
}

// block returns a block that has not ended; nil if there is none.
func (m *Member) block(n int32) *block {
	for _, b := range m.blocks {
		if b.n == n && !b.gone {
			return b
		}
	}
	return nil
}

func (s *step) waiting(b *block) waiting { return waiting{s, b} }

func (s *step) holding(b *block) holding { return holding{s, b, b.held} }

// holder returns the block of which a caller has the lock.
func (s *step) holder(caller int32) (h holding, ok bool) {
	for _, b := range s.blocks {
		if h := b.held; h != nil && !b.gone && h.begun && b.callers[h.index].id == caller {
			return holding{s, b, h}, true
		}
	}
	return h, false
}

// ask is a request under way.
type ask struct {
	what asked
	of   int32 // the block, or the row
	turn int   // of a holder: the one that has sent it
	sent time.Time
	// fresh: it was sent after the answer that has shown Member.latest, so its own answer shows no earlier state.
	fresh bool
}

// asked is whose answer a request awaits.
type asked uint8

const (
	nothing  asked = iota
	byWait         // of a block
	byNumber       // the same: the number of a wider counter
	byRow
	byBeat // of a holder, as all that follow
	byCall // the call that releases its lock
	byRead // of the next row
	byTurn // ADVANCE. The answers from here on say nothing of a later turn
	byUse
	byTx
	bySettle
	byShow
	byReset // no one's
)

// ask notes a request in the first free place, and returns its number.
func (s *step) ask(what asked, of int32) int {
	i := slices.IndexFunc(s.asks, func(a ask) bool { return a.what == nothing })
	if i < 0 {
		i, s.asks = len(s.asks), append(s.asks, ask{})
	}
	s.asks[i] = ask{what: what, of: of, sent: s.now, fresh: true}
	if b := s.block(of); b != nil && b.held != nil {
		s.asks[i].turn = b.held.index
	}
	return i
}

// send sends a write of the record.
func (s *step) send(what asked, of int32, w clause.Write, say string) {
	s.do(Send{Of: s.ask(what, of), Write: w, Say: say})
}

// asking reports whether a request is under way.
func (m *Member) asking(what asked, of int32) bool {
	return slices.ContainsFunc(m.asks, func(a ask) bool { return a.what == what && a.of == of })
}

func (s *step) answered(e Answer) {
	a := s.asks[e.Of]
	s.asks[e.Of] = ask{}
	for n := len(s.asks); n > 0 && s.asks[n-1].what == nothing; n-- {
		s.asks = s.asks[:n-1]
	}
	if len(s.asks) == 0 {
		s.asks = nil // one that holds a lock has none mostly
	}
	s.rec, s.sent = e.Record, a.sent
	b := s.block(a.of)
	if s.saw(a, &e) && b != nil {
		b.older = false
	}
	switch {
	case a.what == byRow:
		keeping{s, s.row(a.of)}.answered(a, e)
	case b == nil: // it has ended: SETDATA, a heartbeat, RESET, or the read of the next row
	case a.what == byNumber:
		s.waiting(b).numbered(e)
	case a.what == byWait:
		s.waiting(b).answered(e)
	case b.held != nil:
		s.holding(b).answered(a, e)
	}
}

// saw keeps the record that an answer has shown, unless the one that is kept may be later. Of requests that overlapped,
// the later record is the one in which a number has risen.
func (s *step) saw(a ask, e *Answer) bool {
	rec := e.Record
	if e.Seen != nil {
		rec = e.Seen.Record
	}
	if e.Reply >= machine.ReplyFailed || rec.Problem != nil || !rec.Exists ||
		!a.fresh && s.latest != nil && !rec.Follows(s.latest.record) {
		return false
	}
	s.latest = &shown{rec, s.now}
	for i := range s.asks {
		s.asks[i].fresh = false
	}
	for _, b := range s.blocks {
		b.older = true
	}
	return true
}

// Purpose is what a request is for.
type Purpose uint8

// The purposes.
const (
	Background  Purpose = iota // of no one
	Waiting                    // a wait
	Cleaning                   // the same, after it has ended
	Keeping                    // a row
	Beating                    // a heartbeat, or a read of a holder
	Ending                     // the end of a turn, or the begin of the next
	Using                      // SETDATA, or DOWNGRADE
	Transacting                // a transaction, or SETTLE
)

// Request is one that is under way.
type Request struct {
	Purpose   Purpose
	Block     int32
	Ticket    ticket.Number // of the block
	Caller    int32         // the first that waits, or that has the lock; zero: none
	Abandoned bool          // nothing waits for the answer, or not for long
}

// For says what a request under way is for.
func (m *Member) For(of int) (is Request) {
	a := m.asks[of]
	n, r := a.of, (*row)(nil)
	if a.what == byRow {
		r = m.row(a.of)
		n = r.of
	}
	b := m.block(n)
	if b == nil {
		is.Abandoned = true
	} else {
		is.Block, is.Ticket, is.Caller = b.n, b.ticket(), b.present()
	}
	switch {
	case r != nil:
		is.Purpose, is.Abandoned = Keeping, r.place.Left() || r.place.Keeps()
	case b == nil:
	case b.held == nil && b.over:
		is.Purpose = Cleaning
	case b.held == nil:
		is.Purpose, is.Abandoned = Waiting, b.leaving
	case a.what == byBeat, a.what == byRead:
		is.Purpose, is.Abandoned = Beating, b.held.calls || b.held.lost
	case a.what == byCall, a.what == byTurn:
		is.Purpose, is.Abandoned = Ending, a.turn != b.held.index
	case a.what == byUse:
		is.Purpose, is.Abandoned = Using, a.turn != b.held.index
	default:
		is.Purpose, is.Abandoned = Transacting, a.turn != b.held.index
	}
	return is
}

// present is the caller that has the lock, or else the first that waits.
func (b *block) present() int32 {
	if b.held != nil {
		return b.callers[b.held.index].id
	}
	if i, ok := b.next(0); ok {
		return b.callers[i].id
	}
	return 0
}

// Gathered returns the callers that have no ticket yet, and take none.
func (m *Member) Gathered() (all []int32) {
	for _, c := range m.gathered {
		all = append(all, c.id)
	}
	return all
}

// Holds reports whether the client has the lock with that id, or is about to release it.
func (m *Member) Holds(id string) bool {
	return slices.ContainsFunc(m.blocks, func(b *block) bool {
		return b.held != nil && !b.gone && b.held.hold.Grant().ID == id
	})
}

// Block is callers that wait together, or hold the lock.
type Block struct {
	N       int32
	Ticket  ticket.Number // the first; zero: it has none
	Waits   bool          // it waits with the ticket, and has not given up
	Doing   machine.Doing // of a wait
	Behind  bool          // it need not look: another one is before it
	Row     bool          // it has a row, or is about to put it
	Relies  bool          // it may rely on the lock, or while it waits on the row, until Ends
	Ends    time.Time     // zero: never, of a lock
	Known   *queue.Snapshot
	Callers Callers
	Turn    int    // of the holder; -1: it waits
	ID      string // of the entry of a holder
}

// Callers are those of a block, by turn. They are valid until the next step.
type Callers []turn

// At returns a caller; zero: the turn is over, or the caller has left.
func (c Callers) At(turn int) int32 {
	if c[turn].state == left {
		return 0
	}
	return c[turn].id
}

// Turn returns the turn of a caller; -1: it has none.
func (c Callers) Turn(caller int32) int {
	return slices.IndexFunc(c, func(t turn) bool { return t.id == caller && t.state != left })
}

// Living returns how many have not left.
func (c Callers) Living() (n int) {
	for i := range c {
		if c[i].state != left {
			n++
		}
	}
	return n
}

// Blocks yields all, in the order of tickets. There is no step meanwhile.
func (m *Member) Blocks() iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for _, b := range m.blocks {
			if !b.gone && !yield(m.shown(b)) {
				return
			}
		}
	}
}

// Block returns the one with that number, or without callers if there is none.
func (m *Member) Block(n int32) (shown Block) {
	if b := m.block(n); b != nil {
		return m.shown(b)
	}
	return Block{Turn: -1}
}

func (m *Member) shown(b *block) Block {
	one := Block{N: b.n, Turn: -1, Callers: b.callers}
	if b.ticketed || b.held != nil {
		one.Ticket = b.ticket()
	}
	if h := b.held; h != nil {
		one.Turn, one.ID = h.index, h.hold.Grant().ID
		one.Relies, one.Ends = h.begun && !h.calls && !h.lost, h.ends
		return one
	}
	one.Waits, one.Doing, one.Behind, one.Known = b.ticketed && !b.leaving, b.wait.State, b.behind, &b.wait.Snapshot
	if r := m.row(b.row); r != nil && !r.failed {
		one.Row, one.Relies, one.Ends = true, r.there, r.ends
	}
	return one
}

// Idle reports whether nothing of the client is left, so far as it knows.
func (m *Member) Idle() bool {
	return len(m.gathered) == 0 && len(m.blocks) == 0 && len(m.rows) == 0 && len(m.asks) == 0
}

// Record returns the latest that an answer has shown, and when. It is zero if nothing waits that needs it.
func (m *Member) Record() (rec queue.Record, at time.Time) {
	if m.latest != nil {
		rec, at = m.latest.record, m.latest.readAt
	}
	return rec, at
}

// Put reports whether the row of a ticket is in the table, so far as is known.
func (m *Member) Put(t ticket.Number) bool {
	return slices.ContainsFunc(m.rows, func(r *row) bool { return r.there && r.place.Row.Ticket == t })
}

// Has reports whether the client has a ticket that waits, or is in its line.
func (m *Member) Has(t ticket.Number) bool {
	return slices.ContainsFunc(m.blocks, func(b *block) bool {
		return b.ticketed && b.held == nil && !b.gone && b.wait.Ticket == t
	})
}

// RowOf returns the block of a row; zero: there is none.
func (m *Member) RowOf(row int32) (block int32) {
	if r := m.row(row); r != nil {
		block = r.of
	}
	return block
}

// Rows returns the tickets of the rows that the client keeps, or still has to remove.
func (m *Member) Rows() (all []ticket.Number) {
	for _, r := range m.rows {
		all = append(all, r.place.Row.Ticket)
	}
	return all
}
