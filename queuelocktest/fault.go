package queuelocktest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// Fault is something that goes wrong with a request, together with the requests
// it goes wrong with: all of them, until it is narrowed down. It is a value: each
// method returns a changed copy, and one Fault can be injected many times. Put it
// to work with [Table.Inject] or [Client.Inject].
type Fault struct {
	name  string
	holds bool // has a gate, and is over once that is open
	shape func(*faultnet.Gate) faultnet.Fate

	split func(fired, items int) []time.Duration // of a transaction's items; nil: none

	where  []func(Request) bool
	chance *chance
	skip   int
	times  int // 0: no limit
	anyway bool
}

type chance struct {
	p    float64
	seed uint64
}

// LoseRequest makes the connection fail before the request is applied. The SDK
// retries it.
func LoseRequest() Fault {
	return there("lose request", faultnet.Leg{Lost: true})
}

// LoseResponse applies the request and then makes the connection fail. The SDK
// retries it: the way a conditional write fails on its own success.
func LoseResponse() Fault {
	return back("lose response", faultnet.Leg{Lost: true})
}

// DelayRequest lets time pass before the request is applied. A caller that gives
// up meanwhile takes its request with it, unless it is [Fault.LandingAnyway].
func DelayRequest(d time.Duration) Fault {
	return there("delay request "+d.String(), faultnet.Leg{Delay: d})
}

// DelayResponse applies the request at once, and lets time pass before it is
// answered.
func DelayResponse(d time.Duration) Fault {
	return back("delay response "+d.String(), faultnet.Leg{Delay: d})
}

// HoldRequest stops requests before they are applied, until [Injection.Release].
// A caller that gives up meanwhile takes its request with it, unless it is
// [Fault.LandingAnyway].
func HoldRequest() Fault {
	f := there("hold request", faultnet.Leg{})
	f.holds = true
	f.shape = func(g *faultnet.Gate) faultnet.Fate { return faultnet.Fate{There: faultnet.Leg{Gate: g}} }
	return f
}

// HoldResponse applies requests and stops their responses, until
// [Injection.Release].
func HoldResponse() Fault {
	f := back("hold response", faultnet.Leg{})
	f.holds = true
	f.shape = func(g *faultnet.Gate) faultnet.Fate { return faultnet.Fate{Back: faultnet.Leg{Gate: g}} }
	return f
}

// SwallowRequest gives no answer until the caller's context ends. The request is
// never applied.
func SwallowRequest() Fault {
	return there("swallow request", faultnet.Leg{Swallowed: true})
}

// SwallowResponse applies the request and gives no answer until the caller's
// context ends.
func SwallowResponse() Fault {
	return back("swallow response", faultnet.Leg{Swallowed: true})
}

// Duplicate applies and answers the request as if nothing were wrong, and
// applies it once more after d, when nobody hears the answer any longer.
func Duplicate(d time.Duration) Fault {
	return Fault{name: "duplicate after " + d.String(), shape: func(g *faultnet.Gate) faultnet.Fate {
		return faultnet.Fate{Copy: &faultnet.Leg{Reached: g.Reach, Delay: d}}
	}}
}

// HoldDuplicate applies and answers the request as if nothing were wrong, and
// applies it once more on [Injection.Release].
func HoldDuplicate() Fault {
	return Fault{name: "hold duplicate", holds: true, shape: func(g *faultnet.Gate) faultnet.Fate {
		return faultnet.Fate{Copy: &faultnet.Leg{Gate: g}}
	}}
}

// LandLate makes the connection fail at once, and applies the request after d
// all the same: the caller retries or gives up, and then its request arrives.
func LandLate(d time.Duration) Fault {
	return Fault{name: "land late after " + d.String(), shape: func(g *faultnet.Gate) faultnet.Fate {
		return faultnet.Fate{There: faultnet.Leg{Reached: g.Reach, Lost: true}, Copy: &faultnet.Leg{Delay: d}}
	}}
}

// Refuse answers with an error of DynamoDB; the request is not applied.
func Refuse(code Code) Fault {
	return Fault{name: "refuse " + string(code), shape: func(g *faultnet.Gate) faultnet.Fate {
		return faultnet.Fate{
			There:   faultnet.Leg{Reached: g.Reach},
			Refusal: &faultnet.Refusal{Code: string(code), Message: code.message()},
		}
	}}
}

// SplitTransaction makes the items of a TransactWriteItems visible one by one, the
// first after the first delay, and so on. Items without a delay are visible at
// once. The package comment says what other requests see meanwhile.
//
// The client is answered when all items are visible. If it gives up before that,
// the transaction is completed all the same.
func SplitTransaction(delays ...time.Duration) Fault {
	delays = append([]time.Duration{}, delays...) // never nil: that would be no split
	return split(fmt.Sprint("split transaction ", delays), func(int, int) []time.Duration { return delays })
}

// SplitTransactions is [SplitTransaction] with delays that are drawn for each
// transaction: its items become visible in random order within a random part of
// the window. The same seed and the same transactions give the same delays.
func SplitTransactions(window time.Duration, seed uint64) Fault {
	s := embedded.Splitting{Window: window}
	return split("split transaction within "+window.String(), func(fired, items int) []time.Duration {
		return s.Delays(rand.New(rand.NewPCG(seed, uint64(fired))), items)
	})
}

func split(name string, delays func(fired, items int) []time.Duration) Fault {
	f := there(name, faultnet.Leg{}).Of("TransactWriteItems")
	f.split = delays
	return f
}

func there(name string, leg faultnet.Leg) Fault {
	return Fault{name: name, shape: func(g *faultnet.Gate) faultnet.Fate {
		leg := leg
		leg.Reached = g.Reach
		return faultnet.Fate{There: leg}
	}}
}

func back(name string, leg faultnet.Leg) Fault {
	return Fault{name: name, shape: func(g *faultnet.Gate) faultnet.Fate {
		leg := leg
		leg.Reached = g.Reach
		return faultnet.Fate{Back: leg}
	}}
}

// Of narrows the fault down to requests of these operations, such as
// "UpdateItem".
func (f Fault) Of(operations ...string) Fault {
	return f.Where(func(r Request) bool { return slices.Contains(operations, r.Operation) })
}

// On narrows the fault down to requests that name the item with this key; an
// empty sort key stands for every item of the partition. A Query names no item:
// use Mentioning for it.
func (f Fault) On(partition, sort string) Fault {
	return f.Where(func(r Request) bool {
		return slices.ContainsFunc(r.Items(), func(k ItemKey) bool {
			return k.Partition == partition && (sort == "" || k.Sort == sort)
		})
	})
}

// Mentioning narrows the fault down to requests whose [Request.Expression]
// contains the text, such as "attribute_not_exists" or `"order-7"`.
func (f Fault) Mentioning(text string) Fault {
	return f.Where(func(r Request) bool { return strings.Contains(r.Expression(), text) })
}

// Where narrows the fault down to requests for which the function is true, in
// addition to whatever narrows it already. The function is called from the
// goroutines that send; it must not send requests itself.
func (f Fault) Where(match func(Request) bool) Fault {
	f.where = append(slices.Clip(f.where), match)
	return f
}

// WithProbability narrows the fault down to a share of the requests that match
// otherwise, between 0 (none) and 1 (all). One number is drawn for each, from a
// generator of the injection's own: the same seed and the same requests give the
// same faults.
func (f Fault) WithProbability(p float64, seed uint64) Fault {
	f.chance = &chance{p, seed}
	return f
}

// Times ends the fault after n requests.
func (f Fault) Times(n int) Fault {
	f.times = max(n, 1)
	return f
}

// After lets the first n requests that match pass.
func (f Fault) After(n int) Fault {
	f.skip = max(n, 0)
	return f
}

// Nth is the k-th request that matches, counted from 1, and no other.
func (f Fault) Nth(k int) Fault { return f.After(k - 1).Times(1) }

// LandingAnyway lets a request go on when its caller gives up while it is
// delayed or held on its way to the table: it is applied when the delay is over
// or the gate is open.
func (f Fault) LandingAnyway() Fault {
	f.anyway = true
	return f
}

// String names the fault as the log does.
func (f Fault) String() string { return f.name }
