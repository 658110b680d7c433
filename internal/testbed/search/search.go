// Package search plays all interleavings of members, a table, a network and time, within bounds, and checks the invariants of
// docs/protocol.md after each step.
//
// The members are those that the library ships, and the table does what [clause.Write.Apply] says of the writes that are
// shipped: the search has no model of its own but of the network, of time and of callers. A request, its application and its
// answer are three steps. Between them anything may happen, within the bounds of a [World].
//
// A violation is printed as its shortest story. Such a story can be kept as a transcript: see testdata.
package search

import (
	"fmt"
	"hash/maphash"
	"io"
	"strings"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var zeroTime time.Time

// search is the search of one world.
type search struct {
	World
	ttl     int8 // steps of a clock in a lease
	dated   bool // DynamoDB's time is known
	crowd   bool // several may hold at once
	readers int  // the most that share
	resumes bool // a process continues what another has left

	items    *items
	members  *machines[member.Member]
	joints   *machines[machine.Transaction]
	steps    map[stepKey]*stepped
	states   []*state              // by the number of the member
	takes    map[int32]ticket.Take // by the number of their writes, if Seeds
	kinds    []*member.Kind
	kindNums map[kindKey]int8
	ids      []string
	idNums   map[string]int16
	follows  map[[2]machine.Doing]bool // what waits did one after the other
	ending   []int32                   // blocks that the step gives up

	log func(string, ...any) // of a story; else nil
	bad string
}

func newSearch(w World, p Plant) *search {
	s := &search{
		World: w, readers: maxNodes, ttl: 1,
		items: newItems(p), steps: map[stepKey]*stepped{}, takes: map[int32]ticket.Take{},
		kindNums: map[kindKey]int8{}, idNums: map[string]int16{}, follows: map[[2]machine.Doing]bool{},
	}
	s.dated = w.Forgets
	if w.Half {
		s.ttl = 2
	}
	for i := range w.Clients {
		for c := &w.Clients[i]; c != nil; c = c.With {
			if r := c.Mode.Readers; r > 0 {
				s.readers = min(s.readers, r)
			}
			s.resumes = s.resumes || c.Resumes
			s.crowd = s.crowd || c.Mode != queue.Mode{} || c.Downgrades
			s.dated = s.dated || c.NoWait && w.Names
		}
	}
	s.members = machinesOf[member.Member](s.items)
	s.joints = machinesOf[machine.Transaction](s.items)
	s.joints.add(&machine.Transaction{}) // number 0
	s.id("")
	return s
}

func (s *search) start() world {
	w := world{rec: s.items.add(s.Record, false), left: s.Faults}
	w.number = small(s.items.recs[w.rec].TicketNumber)
	q := member.Queue{Items: &theQueue}
	if s.Forgets {
		q.Forget = unit
	}
	for i, c := range s.Clients {
		cfg := &member.Config{Most: max(c.Block, 1), Names: s.Names, Retakes: s.Retakes, Gather: unit, Patience: unit}
		if s.Again {
			cfg.Arrival = unit
		}
		m := member.New(cfg, q)
		w.nodes[i].m = s.members.add(&m)
	}
	return w
}

func (s *search) say(format string, args ...any) {
	if s.log != nil {
		s.log(format, args...)
	}
}

// Result is what a search has found.
type Result struct {
	States, Depth int
	Took          time.Duration
	Complete      bool   // no state is left out
	Bad           string // an invariant that is broken, and how; "" if none is
	Story         string // how that happens, in the fewest steps
	Steps         int    // of the story
	// Follows has each pair of things that a waiter did one after the other.
	Follows map[[2]machine.Doing]bool `json:"-"`
}

// breadth is up to how many states a search goes breadth first, so that a story is the shortest. Then it goes depth first,
// with less memory. It also does so once more than wide states are open.
const (
	breadth = 3_000_000
	wide    = 300_000
)

// Plant changes a write as it is sent: a planted mistake, which a search must find.
type Plant func(clause.Write) clause.Write

// Run searches a world with a planted mistake, if there is one.
func Run(w World, p Plant, progress io.Writer) Result {
	return newSearch(w, p).run(progress)
}

func (s *search) run(progress io.Writer) (r Result) {
	r.Follows = s.follows
	begun, seed := time.Now(), maphash.MakeSeed()
	type open struct {
		world
		at uint32
	}
	first := s.start()
	seen := map[uint64]uint32{maphash.Bytes(seed, memory(&first)): 0} // the number of each state, by its hash
	parents, by := []uint32{0}, []move{{}}
	var edges, good []uint32
	level := []*open{{first, 0}}
	r.Complete = true
	limit := s.MaxStates
	if limit == 0 {
		limit = 1 << 30
	}
	var all []move
	for ; len(level) > 0 && s.bad == ""; r.Depth++ {
		var next []*open
		now := level
		if deep := len(parents) > breadth || len(level) > wide; deep {
			now, next = level[len(level)-1:], level[:len(level)-1]
		}
		for _, o := range now {
			var fair int
			all, fair = s.moves(&o.world, all[:0])
			ways := 0
			try := func(m move) bool {
				w, ok := s.follow(&o.world, m)
				if !ok {
					return false
				}
				s.check(&w)
				hash := maphash.Bytes(seed, memory(&w))
				at, met := seen[hash]
				if !met || s.bad != "" {
					at = uint32(len(parents))
					parents, by = append(parents, o.at), append(by, m)
				}
				if !met {
					seen[hash] = at
					next = append(next, &open{w, at})
				}
				edges = append(edges, o.at, at)
				if s.bad != "" {
					r.Story, r.Steps = s.replay(parents, by, at)
				}
				return true
			}
			for k, m := range all {
				if try(m) && k < fair {
					ways++
				}
				if s.bad != "" {
					break
				}
			}
			// Time goes on where nothing else happens.
			for i := 0; ways == 0 && s.bad == "" && i < len(s.Clients); i++ {
				if s.matters(&o.world, i) && try(move{kind: sleeps, i: int8(i)}) {
					ways++
				}
			}
			if ways == 0 && s.bad == "" {
				if s.final(&o.world); s.bad != "" {
					r.Story, r.Steps = s.replay(parents, by, o.at)
				}
				good = append(good, o.at)
			}
			if s.bad != "" || len(parents) >= limit {
				break
			}
		}
		level = next
		if len(parents) >= limit && s.bad == "" {
			r.Complete = false
			break
		}
		if progress != nil && (r.Depth < 1000 && r.Depth%10 == 9 || r.Depth%200_000 == 0) {
			fmt.Fprintf(progress, "depth %d: %d states, %d open, %.0f/s\n", r.Depth, len(parents), len(level), float64(len(parents))/time.Since(begun).Seconds())
		}
	}
	r.States, r.Bad = len(parents), s.bad
	if r.Bad == "" && r.Complete {
		if n, at := stuck(len(parents), edges, good); n > 0 {
			r.Bad = fmt.Sprintf("livelock: from %d states no continuation ends", n)
			r.Story, r.Steps = s.replay(parents, by, at)
		}
	}
	r.Took = time.Since(begun)
	return r
}

// stuck returns how many states cannot reach an end, and the first of them.
func stuck(states int, edges, good []uint32) (n int, first uint32) {
	last, other := make([]uint32, states), make([]uint32, len(edges)/2+1) // edges to a state, by their numbers; 0: no other
	for k := 1; k < len(other); k++ {
		to := edges[2*k-1]
		other[k], last[to] = last[to], uint32(k)
	}
	ok := make([]bool, states)
	for _, g := range good {
		ok[g] = true
	}
	for len(good) > 0 {
		at := good[len(good)-1]
		good = good[:len(good)-1]
		for k := last[at]; k > 0; k = other[k] {
			if f := edges[2*k-2]; !ok[f] {
				ok[f] = true
				good = append(good, f)
			}
		}
	}
	for k := states - 1; k >= 0; k-- {
		if !ok[k] {
			n, first = n+1, uint32(k)
		}
	}
	return n, first
}

// replay plays how a state was reached, and writes it down.
func (s *search) replay(parents []uint32, by []move, at uint32) (story string, steps int) {
	var path []move
	for ; at > 0; at = parents[at] {
		path = append(path, by[at])
	}
	var b strings.Builder
	bad := s.bad
	s.log = func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	w := s.start()
	for k := len(path) - 1; k >= 0; k-- {
		w, _ = s.follow(&w, path[k])
	}
	s.log, s.bad = nil, bad
	return b.String(), len(path)
}
