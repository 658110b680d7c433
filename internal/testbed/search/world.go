package search

import (
	"cmp"

	"github.com/queuelock/queuelock/queue"
)

// World is what is searched: a queue, its clients, and how often each fault may happen.
type World struct {
	Name, About string
	Clients     []Client
	Names       bool // a holder that has read the row with the next ticket may grant the lock by it
	Same        bool // all are waiters of one client: a release may pass the lock to one that rests
	Retakes     bool // the same, and a release may take tickets for one that has none
	Line        bool // the same, and a waiter may take over the record that another one has read
	Seeds       bool // the engine refuses a function within a function: a record that is missing is seeded by a second request
	Wide        bool // a wider counter issues the tickets
	Any         bool // a copy may also come of a request that must be sent only once
	Half        bool // a step of a clock is half a lease
	Stale       bool // a waiter looks before it acts by the record that showed a holder when it entered
	Put         bool // no request is sent before the row is in the table
	Faults      Faults
	MaxStates   int // more are not searched; zero: all
}

// Client is a client that acquires the lock some times, one after the other.
type Client struct {
	Turns      int  // of its callers, one each
	Block      int  // how many of them wait together, with adjacent tickets; zero: one
	Apart      bool // it is another client, in a world with Same
	Mode       queue.Mode
	NoWait     bool
	FailClosed bool
	Resumes    bool   // it continues what the last wait of A has left, by its handle
	Downgrades bool   // it may downgrade its lock
	Sets       int    // how often it may call SetData
	Updates    int    // UpdateAndRelease
	Writes     int    // Transact
	Reads      bool   // it reads what the lock protects
	Fences     int    // how often it sends a transaction of its own, with the condition of its lock
	Most       int    // of waiters ahead; zero: no limit
	Group      string // a later waiter of the group supersedes it; empty: none does
	Cancels    bool   // and it asks holders of the group to give way
	Delays     bool   // its locks have a lock delay, which is as long as the lease
	Once       bool   // it waits for a result, or computes one, which never grows old
	AtLeast    bool   // they keep the queue closed for two leases after the grant
}

// Faults are how often each fault may happen.
type Faults struct {
	Lost    int // a request, or its answer, is lost
	Failed  int // a request is refused for another reason, and its sender knows
	Late    int // a request has no answer, and is applied at any time after that
	Dup     int // a copy of a request that may be repeated is applied, at any time
	Crash   int
	Ends    int // a clock goes on: leases end that were not renewed, also of a process that is suspended
	GiveUp  int // a caller gives up
	Slow    int // an answer arrives after other things have happened
	Beat    int // heartbeats of holders
	RowBeat int // of rows
	Guess   int // a rest ends with CLAIM in place of a look
	Evict   int // an operator evicts a live holder
	Delete  int // another program deletes the record
	Forget  int // DynamoDB forgets the token of a transaction
	Decline int // the condition of callers' updates becomes false, or true again
	Ask     int // an operator asks a holder to give way
	Pause   int // a process stops between a step of its wait and what follows, and a request is sent later or never
}

type fault uint8

const (
	lost fault = iota
	failed
	late
	dup
	crash
	ends
	giveUp
	slow
	beat
	rowBeat
	guess
	evict
	deletes
	decline
	forget
	pause
	ask
	faults
)

func (f Faults) left() [faults]int8 {
	all := [faults]int{f.Lost, f.Failed, f.Late, f.Dup, f.Crash, f.Ends, f.GiveUp, f.Slow, f.Beat, f.RowBeat, f.Guess, f.Evict, f.Delete, f.Decline, f.Forget, f.Pause, f.Ask}
	var left [faults]int8
	for i, n := range all {
		left[i] = int8(n)
	}
	return left
}

// The most of each in a world.
const (
	maxNodes  = 4
	maxPlaces = 4
	maxRows   = 6
	maxNet    = 10
	maxTicket = 15
)

// world is a state. It is comparable, and small: machines, items and writes are numbers.
type world struct {
	rec    int32
	rows   [maxRows]int32 // in the order of tickets
	nodes  [maxNodes]node
	net    [maxNet]msg // in order
	left   [faults]int8
	used   uint32 // the faults that have happened, by bits
	stays  bool   // a removal was lost
	denies bool   // the condition of callers' updates is false
	split  split
	x      uint8 // the ticket that has written it
	number uint8 // of the wider counter
	grant  uint8 // the highest ticket that the table has granted
	heard  uint8 // the highest of which a caller has heard
	turn   uint8 // the highest that has begun in memory
	before [maxTicket + 1]uint16
	line   line
}

func (w *world) has(f fault) bool { return w.used&(1<<f) != 0 }

func (w *world) spend(f fault) {
	w.left[f]--
	w.used |= 1 << f
}

// caller is what a caller waits for.
type caller uint8

const (
	idle caller = iota
	waits
	leaves // it has given up
	holds
	ended // holds was over, and the release is under way
)

// node is a process.
type node struct {
	wait    int32 // its machine
	hold    hold
	places  [maxPlaces]place
	caller  caller
	turns   int8
	gen     int8  // number of its waits
	known   uint8 // the ticket of the last, so that another process can resume it
	block   int8  // how many callers its wait or lock is for, if the client has blocks
	gone    uint8 // those that have given up, or are given back to the queue, by bits
	ended   int8  // callers that have had the lock, or have given up
	clock   int8
	place   int8 // of the present ticket, and one; zero: none
	dead    bool
	over    bool // it has asked, and waits for its rows to be deleted: GiveUp follows
	offered bool // it rests, and releases may pass the lock to it
	taken   bool // one has
	updated updated
	made    made
	seen    order  // of its snapshot
	ahead   uint16 // tickets of the rows that were there when its own was put
	later   uint16 // tickets of the later rows of its group that its last look has shown
	pausing bool   // it stops after its next step
	stopped int32  // that step: see search.all; zero: it does not stop
	opens   int8   // the clock until which a lock that it was given keeps the queue closed
}

// place is a row of a waiter.
type place struct {
	m         int32 // its machine
	state     placeState
	ticket    uint8
	until     int8 // the clock at which its lease ends, so far as its waiter knows
	withdrawn bool // to be deleted
}

type placeState uint8

const (
	noPlace placeState = iota
	putting
	there
	renewing
	deleting
	taken // another row has the ticket
)

// hold is a held lock.
type hold struct {
	m        int32 // its machine
	named    bool
	accepted bool
	endless  bool
	beating  bool  // a heartbeat is under way
	calling  bool  // Release was called
	computes bool  // its release leaves a result
	lost     bool  // so far as it knows
	excused  bool  // an operator evicted it, or the record was deleted
	ticket   uint8 // of the present turn
	inBlock
	sent   int8 // the clock at which its lease began
	until  int8 // the last end that it has written
	end    turnEnd
	number int16 // of its id: see search.id
	next   int32 // the row that it has read
	pass   int8  // the waiter that it is to pass the lock to, and one; below zero: the row that it has read
	passTo int8  // the waiter that gets the answer too, and one
	using
}

// inBlock is what a held lock has of its block.
type inBlock struct {
	first     uint8 // ticket of the entry
	turns     int8  // of tickets
	index     int8  // of the present turn
	advancing bool  // ADVANCE is under way
	before    int32 // the machine of the turn before, whose caller may still ask for a condition
}

// last is the last ticket of the block.
func (b inBlock) last() uint8 { return b.first + uint8(b.turns) - 1 }

type turnEnd uint8

const (
	running turnEnd = iota
	byRelease
	byOther
)

// role is who sent a request.
type role uint8

const (
	noMsg role = iota
	byWait
	byPlace
	byBeat
	byHold
	byReset
	byOperator
	byChange
	byAdvance
	byTx
	bySettle
	byNone // a late request, or a copy: no answer is awaited
)

// msg is a request on its way to the table, or an answer on its way back.
type msg struct {
	role   role
	node   int8
	place  int8
	answer bool
	around bool  // the look shows the rows behind its sender's, which has the ticket, too
	look   uint8 // a look at the rows up to this ticket, and one; zero: it is a write
	bare   bool  // the look shows the record alone
	next   uint8 // the look of a waiter with this ticket, that also shows its own row and the next; zero: not
	after  uint8 // the ticket of the next
	clock  int8  // when it was sent
	write  [2]int32
	reply  uint8
	rec    int32
	rows   int32
	shown  int32 // the next row
	own    bool
	row    int32 // the row that an ENQUEUE left or met
	call   int8  // of UpdateAndRelease, or number of the transaction
	ticket uint8 // of the holder, where that matters
	token  int8  // of the transaction; zero: it is none
	base   uint8 // what it has read of x
	alone  bool  // the lock was exclusive as it was sent
	order  order // of the record that it returns
}

func (m *msg) less(o *msg) int {
	b := func(v bool) int {
		if v {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(m.role, o.role), cmp.Compare(m.node, o.node), cmp.Compare(m.place, o.place), cmp.Compare(b(m.answer), b(o.answer)),
		cmp.Compare(m.write[0], o.write[0]), cmp.Compare(m.write[1], o.write[1]), cmp.Compare(m.look, o.look), cmp.Compare(m.clock, o.clock),
		cmp.Compare(m.rec, o.rec), cmp.Compare(m.rows, o.rows), cmp.Compare(m.reply, o.reply), cmp.Compare(m.row, o.row),
		cmp.Compare(m.next, o.next), cmp.Compare(m.shown, o.shown), cmp.Compare(b(m.bare), b(o.bare)), cmp.Compare(b(m.around), b(o.around)), cmp.Compare(b(m.own), b(o.own)),
		cmp.Compare(m.call, o.call), cmp.Compare(m.ticket, o.ticket), cmp.Compare(m.token, o.token), cmp.Compare(m.base, o.base), cmp.Compare(b(m.alone), b(o.alone)), cmp.Compare(m.order.sent, o.order.sent),
	)
}

// post puts a message into the network.
func (s *search) post(w *world, m msg) {
	n := 0
	for n < maxNet && w.net[n].role != noMsg {
		n++
	}
	if n == maxNet {
		s.fail("bounds: more than %d messages", maxNet)
		return
	}
	i := n
	for i > 0 && m.less(&w.net[i-1]) < 0 {
		w.net[i] = w.net[i-1]
		i--
	}
	w.net[i] = m
}

// take takes a message out of the network.
func (w *world) take(i int) msg {
	m := w.net[i]
	copy(w.net[i:], w.net[i+1:])
	w.net[maxNet-1] = msg{}
	return m
}

// rowOf returns where the row of a ticket is, or would be.
func (s *search) rowOf(w *world, t uint8) (i int, ok bool) {
	for ; i < maxRows && w.rows[i] != none; i++ {
		switch r := s.ticketOf(w.rows[i]); {
		case r == t:
			return i, true
		case r > t:
			return i, false
		}
	}
	return i, false
}

func (s *search) ticketOf(row int32) uint8 { return small(s.items.rows[row].Ticket) }
