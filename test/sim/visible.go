package sim

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/queuelock/queuelock"
)

// visible is what clients saw of each queue's lock and register: calls with
// their outcomes, to be explained by one order of instants.
type visible struct {
	mu     sync.Mutex
	queues map[string][]operation // guarded by mu
	locks  map[string]bool        // those that are locks: of a semaphore there is no such history
}

type kind int

const (
	opGrant        kind = iota // Acquire returned a lock
	opRelease                  // Release returned nil
	opLoss                     // the holder learnt, by itself, that it is no longer one
	opEnd                      // the holder died, or does not know what came of its Release
	opWrite                    // a protected write was made
	opWriteRefused             // the fence refused it
	opWriteUnknown             // it may have been made, or may yet be
	opRead                     // the register was read
	opDowngrade                // the holder shares from now on
	opResume                   // another process has gone on with a lock that was given up, and not released
)

// never is when a call returned whose end was not seen.
const never = int64(1) << 62

type operation struct {
	node      string
	kind      kind
	token     string
	shares    bool // a grant
	pending   bool // it may have had no effect yet
	value     string
	call, ret int64
}

func (o operation) String() string {
	kinds := []string{"grant", "release", "loss", "end", "write", "refused write", "unknown write", "read", "downgrade", "resume"}
	return fmt.Sprintf("%s: %s token %s value %q from %v to %v", o.node, kinds[o.kind], o.token, o.value, time.Duration(o.call), time.Duration(o.ret))
}

func (v *visible) add(key queuelock.Key, op operation) {
	if !v.locks[name(key)] {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.queues[name(key)] = append(v.queues[name(key)], op)
}

// goesOn says that another process has resumed the lock with that token. One that
// ended without a word has not ended after all. It reports whether anybody ever
// saw the grant, and whether the last holder had given it up since.
func (v *visible) goesOn(key queuelock.Key, token string) (seen, lost bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.queues[name(key)] = slices.DeleteFunc(v.queues[name(key)], func(op operation) bool {
		if op.token != token {
			return false
		}
		switch op.kind {
		case opGrant, opResume:
			seen, lost = true, false
		case opLoss, opRelease:
			lost = true // a resume after a release is a violation
		}
		return op.kind == opEnd
	})
	return seen, lost
}

// state is the lock with its register, as one of its kind without faults.
type state struct {
	writer   string // token of the holder that does not share
	readers  string // tokens of those that do, in order: "5 6 "
	last     string // token granted
	alone    string // last token granted to a holder that did not share
	released bool   // last was released rather than lost
	value    string // of the register
}

func (s state) holds(token string) bool { return s.writer == token || s.reads(token) }

func (s state) reads(token string) bool {
	return strings.HasPrefix(s.readers, token+" ") || strings.Contains(s.readers, " "+token+" ")
}

func (s state) without(token string) state {
	if s.writer == token {
		s.writer = ""
		return s
	}
	readers := strings.Fields(s.readers)
	s.readers = ""
	for _, r := range readers {
		if r != token {
			s.readers += r + " "
		}
	}
	return s
}

// step is the specification. Events that no client saw, such as a grant
// that was given back before its answer came, are not in it.
func step(s state, op operation) (bool, state) {
	switch op.kind {
	case opGrant:
		return s.grant(op)
	case opResume:
		return s.resume(op)
	case opDowngrade:
		if s.writer == op.token { // else it came to nothing
			s.writer, s.readers = "", op.token+" "
		}
		return true, s
	case opRelease, opLoss, opEnd:
		if !s.holds(op.token) {
			return false, s
		}
		s = s.without(op.token)
		s.released = s.released || op.kind == opRelease && s.last == op.token
		return true, s
	case opWrite:
		// A holder that has given up its lease may still be in the record, and no
		// other is: its write is as good as ever.
		if s.last != op.token || s.released {
			return false, s
		}
		s.value = op.value
		return true, s
	case opWriteRefused:
		return !s.holds(op.token), s
	case opRead:
		return s.value == op.value, s
	}
	panic("unknown operation")
}

// admits reports whether a holder may join: a lock that shares beside others that
// do, and any lock where there is none.
func (s state) admits(shares bool) bool { return s.writer == "" && (s.readers == "" || shares) }

func (s state) grant(op operation) (bool, state) {
	if !s.admits(op.shares) || !less(s.last, op.token) {
		return false, s
	}
	s.last, s.released = op.token, false
	if op.shares {
		s.readers += op.token + " "
	} else {
		s.writer, s.alone = op.token, op.token
	}
	return true, s
}

// resume lets another process continue. Holders that share come and go beside it.
func (s state) resume(op operation) (bool, state) {
	latest := s.last == op.token
	if !s.admits(op.shares) || !latest && !op.shares || latest && s.released || less(op.token, s.alone) {
		return false, s
	}
	if op.shares {
		s.readers += op.token + " "
	} else {
		s.writer = op.token
	}
	return true, s
}

func less(a, b string) bool {
	x, _ := new(big.Int).SetString("0"+a, 10)
	y, _ := new(big.Int).SetString("0"+b, 10)
	return x.Cmp(y) < 0
}

// model is the specification for porcupine. An unknown write is one of two:
// made, or not.
var model = porcupine.NondeterministicModel{
	Init: func() []any { return []any{state{}} },
	Step: func(s, in, _ any) []any {
		op := in.(operation)
		var next []any
		if op.pending || op.kind == opWriteUnknown {
			next = append(next, s)
		}
		if op.kind == opWriteUnknown {
			op.kind = opWrite
		}
		if ok, after := step(s.(state), op); ok {
			next = append(next, after)
		}
		return next
	},
	Equal:             func(a, b any) bool { return a.(state) == b.(state) },
	DescribeOperation: func(in, _ any) string { return in.(operation).String() },
}

// searchLimit bounds the search for an order, on the machine's own clock.
const searchLimit = 20 * time.Second

// check looks for an order of instants that explains each queue's history. It
// returns those for which there is none, and counts those for which the search
// took too long.
func (v *visible) check() (violations []string, unchecked int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for queue, ops := range v.queues {
		bound(ops)
		history := make([]porcupine.Operation, len(ops))
		for i, op := range ops {
			history[i] = porcupine.Operation{ClientId: i, Input: op, Call: op.call, Return: op.ret}
		}
		switch porcupine.CheckOperationsTimeout(model.ToModel(), history, searchLimit) {
		case porcupine.Illegal:
			violations = append(violations, fmt.Sprintf("what clients saw of %s is not linearizable; up to here it was:\n%s", queue, unexplained(history)))
		case porcupine.Unknown:
			unchecked++
		}
	}
	return violations, unchecked
}

// unexplained shows the calls around the first return that no order of instants
// explains.
func unexplained(history []porcupine.Operation) string {
	byReturn := slices.Clone(history)
	slices.SortStableFunc(byReturn, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	n, _ := slices.BinarySearchFunc(byReturn, true, func(end porcupine.Operation, _ bool) int {
		var prefix []porcupine.Operation
		for _, op := range history {
			if op.Return > end.Return {
				call := op.Input.(operation)
				call.pending = true // its outcome is not known yet
				op.Input, op.Return = call, never
			}
			if op.Call <= end.Return {
				prefix = append(prefix, op)
			}
		}
		if porcupine.CheckOperationsTimeout(model.ToModel(), prefix, searchLimit) == porcupine.Illegal {
			return 1
		}
		return -1
	})
	var b strings.Builder
	for _, op := range byReturn[max(0, n-6):min(n+1, len(byReturn))] {
		fmt.Fprintln(&b, "    ", op.Input)
	}
	return b.String()
}

// bound gives calls without a seen return the latest instant at which they can have taken
// effect. A write with an old token is refused once a later one was granted, and an owner
// that ended without a record had ended by then too.
func bound(ops []operation) {
	for i := range ops {
		if ops[i].ret != never {
			continue
		}
		for _, other := range ops {
			if other.kind == opGrant && !other.shares && less(ops[i].token, other.token) && other.ret < ops[i].ret {
				ops[i].ret = max(other.ret, ops[i].call)
			}
		}
	}
}
