package search

import (
	"bytes"
	"unsafe"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// World is what is searched: a queue, its clients, and how often each fault may happen.
type World struct {
	Name, About string
	Clients     []Client
	Names       bool        // a holder that has read the row with the next ticket may grant the lock by it
	Retakes     bool        // a release may take tickets for callers of the client that gather
	Seeds       bool        // the engine refuses a function within a function: a record that is missing is seeded by a second request
	Wide        bool        // a wider counter issues the tickets
	Again       bool        // what a request may have left that was given up is removed twice, the second time after all have arrived
	Forgets     bool        // TTL deletes a record that says so, long after the last request: the next one begins above its tickets
	Silent      bool        // the table has been silent for too long: a wait ends with its first failure
	Any         bool        // a copy may also come of a request that must be sent only once
	Half        bool        // a step of a clock is half a lease
	More        bool        // it has more than States
	Record      clause.Item // of another program, which is there from the start
	Faults      Faults
	MaxStates   int // more are not searched; zero: all
}

// Client is a process whose callers acquire the lock, one after the other or beside each other.
type Client struct {
	Turns      int // of its callers, one each
	Block      int // how many of them come together, and may wait as a block; zero: one
	Beside     int // how many of those are there at the same time; zero: one
	Mode       queue.Mode
	NoWait     bool
	FailClosed bool
	Puts       bool          // no look or claim is sent before the row is in the table
	Resumes    bool          // it continues what the last wait of client From has left, by its handle
	From       int           // A, unless it is set
	Leaves     bool          // it sends LEAVE before, and continues only a lock that was granted meanwhile
	Keeps      bool          // it keeps its place for two leases if it gives up
	Downgrades bool          // a caller may downgrade its lock
	Sets       int           // how often it may call SetData
	Updates    int           // UpdateAndRelease
	Writes     int           // Transact
	Both       bool          // it calls Transact while such a call is under way
	Reads      bool          // it reads what the lock protects
	Fences     int           // how often it sends a transaction of its own, with the condition of its lock
	Most       int           // of waiters ahead; zero: no limit
	Group      string        // a later waiter of the group supersedes it; empty: none does
	Cancels    bool          // and it asks holders of the group to give way
	Delays     bool          // its locks have a lock delay, which is as long as the lease
	Once       bool          // it waits for a result, or computes one, which never grows old
	AtLeast    bool          // they keep the queue closed for two leases after the grant
	Common     bool          // one ticket is for several queues, and this is the first: a place with another ticket is a new call
	Given      bool          // the same, and this is a later queue: the number was taken before
	Saves      bool          // its handle is saved before its row is put
	Scope      *ticket.Scope // that its program asks for; nil: that of the others
	Joins      int           // how often it takes part in a transaction that another lock sends
	With       *Client       // callers of the process that come beside, and want something else
}

// Faults are how often each fault may happen.
type Faults [faults]int8

// Fault is what may go wrong, or happens beside the callers.
type Fault uint8

// The faults.
const (
	Lost    Fault = iota // a request, or its answer, is lost
	Failed               // a request is refused for another reason, and its sender knows
	Late                 // a request has no answer, and is applied at any time after that
	Dup                  // a copy of a request that may be repeated is applied, at any time
	Crash                // of a client
	Ends                 // a clock goes on: leases end that were not renewed, also of a process that is suspended
	GiveUp               // a caller gives up
	Slow                 // a look begins before other things, and its answer, or that of another request, arrives after them
	Beat                 // heartbeats of holders
	RowBeat              // of rows
	Guess                // a bell: the first waiter acts in place of a look
	Evict                // an operator evicts a live holder
	Delete               // another program deletes the record
	Forget               // DynamoDB forgets the token of a transaction
	Decline              // the condition of callers' updates becomes false, or true again
	Ask                  // an operator asks a holder to give way
	faults
)

// The most of each in a world.
const (
	maxNodes   = 4
	maxCallers = 4
	maxRows    = 6
	maxNet     = 10
	maxTicket  = 15
)

// world is a state. It is small: members, items and writes are numbers. It has no gaps, so its memory can be compared, and has
// a hash: see TestPlain.
type world struct {
	rec    int32
	rows   [maxRows]int32 // in the order of tickets
	nodes  [maxNodes]node
	net    [maxNet]msg // in order
	split  split
	used   uint32 // the faults that have happened, by bits
	before [maxTicket + 1]uint16
	number uint8           // of the wider counter
	base   uint8           // after which a new record begins
	common [maxNodes]uint8 // the number that a client has taken for several queues
	left   Faults
	stays  bool  // a removal was lost
	denies bool  // the condition of callers' updates is false
	x      uint8 // the ticket that has written it
	grant  uint8 // the highest ticket that the table has granted
	heard  uint8 // the highest of which a caller has heard
	turn   uint8 // the highest that has begun in memory
}

// memory returns the bytes of a plain value.
func memory[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

func (w *world) has(f Fault) bool { return w.used&(1<<f) != 0 }

// may reports whether a fault may still happen.
func (w *world) may(f Fault) bool { return w.left[f] > 0 }

func (w *world) spend(f Fault) {
	w.left[f]--
	w.used |= 1 << f
}

// node is a process.
type node struct {
	m       int32 // its member
	callers [maxCallers]caller
	known   handle // of its last wait, or lock
	came    int8
	clock   int8
	dead    bool
	opens   int8 // the clock until which a lock that it was given keeps the queue closed
	keeps   int8 // the same until which it has heard that the place of its handle is kept
	_       int8
}

// handle is what another process resumes.
type handle struct {
	id, from int16
	ticket   uint8
	held     bool
}

// caller is one that wants the lock, and what it knows.
type caller struct {
	using
	id      int16 // of its wait: the prefix of the ids of entries
	state   callerState
	ticket  uint8
	first   uint8 // of the entry
	slot    int8  // the number of its permit, and one; 0: it has none
	calling int8  // calls under way, that are no releases
	lost    bool
	gone    bool // it has given up
	excused bool // an operator evicted it, or the record was deleted
	updates bool // it has called UpdateAndRelease
	open    bool // and that may be made: it does not rely on the lock
	shared  bool // it does not rely on being alone: it has called Downgrade, or others may hold the lock from the start
	joined  bool // the same: it knows that others may
	end     turnEnd
	marks   // that were replaced since
	_       [3]int8
}

// served reports whether its turn has begun, and is not over.
func (c *caller) served() bool { return c.state == holds || c.state == releasing }

type callerState uint8

const (
	absent callerState = iota
	waits
	holds
	releasing
	over
)

type turnEnd uint8

const (
	running turnEnd = iota
	byRelease
	byOther
)

// marks says which marks of turns that have ended were replaced since the end of a turn.
type marks struct{ released, evicted bool }

// role is what a message is.
type role uint8

const (
	noMsg role = iota
	request
	counter // asks a wider counter, which answers at once
	operators
	stray // a late request, or a copy: no answer is awaited
)

// msg is a request on its way to the table, or an answer on its way back.
type msg struct {
	write  [2]int32
	rec    int32
	rows   int32
	next   int32 // the next row
	row    int32 // the row that an ENQUEUE left or met
	look   look
	role   role
	node   int8
	caller int8 // of a transaction or an update
	of     int8 // of the member; negative: of another lock, whose transaction it is
	answer bool
	clock  int8  // when it was sent
	reply  uint8 // a machine.Reply
	own    bool
	users  bool  // it has the update of the caller
	tx     bool  // it is a transaction
	call   int8  // number of the update, or of the transaction
	ticket uint8 // of the holder, where that matters
	token  int8  // of the transaction
	show   bool  // it is answered once the transaction is visible
	denied bool  // the condition of the caller has refused it
	base   uint8 // what it has read of x
	alone  bool  // the lock was exclusive as it was sent
}

// joint reports whether it is a transaction that another lock sends.
func (m *msg) joint() bool { return m.of < 0 }

// look is what a look reads.
type look struct {
	is               bool
	below, own       uint8
	turns            int8
	bare, later, row bool
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
	for ; n > 0 && bytes.Compare(memory(&m), memory(&w.net[n-1])) < 0; n-- {
		w.net[n] = w.net[n-1]
	}
	w.net[n] = m
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

// specOf returns what caller j of client i wants.
func (s *search) specOf(i, j int) *Client {
	c := &s.Clients[i]
	if c.With != nil && j >= c.Turns {
		return c.With
	}
	return c
}

// callersOf returns how many callers a client has.
func (s *search) callersOf(i int) int {
	c := &s.Clients[i]
	if c.With != nil {
		return c.Turns + c.With.Turns
	}
	return c.Turns
}

// width returns how many callers of a client may be there at the same time.
func (c *Client) width() int { return max(c.Block, 1) * max(c.Beside, 1) }

// crowdOf returns how many callers of a client are there.
func (n *node) crowd() (k int) {
	for j := range n.came {
		if c := n.callers[j].state; c != over {
			k++
		}
	}
	return k
}
