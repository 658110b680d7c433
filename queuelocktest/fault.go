package queuelocktest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/fault"
)

// Fault is a failure, and the requests that it meets: all, until it is narrowed down.
// It is a value: each method returns a changed copy, and one Fault can be injected many
// times with [Table.Inject] or [Client.Inject].
type Fault struct {
	name  string
	holds bool // has a gate, and is over once that is open
	shape func(*fault.Gate) fault.Fate

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
	return one(fault.LoseRequest, "", 0)
}

// LoseResponse applies the request and then makes the connection fail. The SDK retries
// it, and a conditional write then fails because of its own success.
func LoseResponse() Fault {
	return one(fault.LoseResponse, "", 0)
}

// DelayRequest delays the request before it is applied. It is dropped if its caller
// gives up meanwhile, unless it is [Fault.LandingAnyway].
func DelayRequest(d time.Duration) Fault {
	return one(fault.DelayRequest, " "+d.String(), d)
}

// DelayResponse applies the request at once and delays its answer.
func DelayResponse(d time.Duration) Fault {
	return one(fault.DelayResponse, " "+d.String(), d)
}

// HoldRequest stops requests before they are applied, until [Injection.Release]. A
// request is dropped if its caller gives up meanwhile, unless it is
// [Fault.LandingAnyway].
func HoldRequest() Fault {
	return Fault{name: "hold request", holds: true, shape: func(g *fault.Gate) fault.Fate {
		return fault.Fate{There: fault.Leg{Gate: g}}
	}}
}

// HoldResponse applies requests and stops their responses, until
// [Injection.Release].
func HoldResponse() Fault {
	return Fault{name: "hold response", holds: true, shape: func(g *fault.Gate) fault.Fate {
		return fault.Fate{Back: fault.Leg{Gate: g}}
	}}
}

// SwallowRequest gives no answer until the caller's context ends. The request is
// never applied.
func SwallowRequest() Fault {
	return one(fault.SwallowRequest, "", 0)
}

// SwallowResponse applies the request and gives no answer until the caller's
// context ends.
func SwallowResponse() Fault {
	return one(fault.SwallowResponse, "", 0)
}

// Duplicate applies and answers the request as if nothing were wrong, and
// applies it once more after d, without an answer.
func Duplicate(d time.Duration) Fault {
	return one(fault.Duplicate, " after "+d.String(), d)
}

// HoldDuplicate applies and answers the request as if nothing were wrong, and
// applies it once more on [Injection.Release].
func HoldDuplicate() Fault {
	return Fault{name: "hold duplicate", holds: true, shape: func(g *fault.Gate) fault.Fate {
		return fault.Fate{Copy: &fault.Leg{Gate: g}}
	}}
}

// LandLate makes the connection fail at once, and applies the request after d.
func LandLate(d time.Duration) Fault {
	return one(fault.Late, " by "+d.String(), d)
}

// Refuse answers with an error of DynamoDB; the request is not applied.
func Refuse(code Code) Fault { return refuse("refuse "+string(code), code, "") }

// Throttle answers with a throttle by that limit, with DynamoDB's reason; the request is not applied. With
// event.UnknownLimit there is no reason.
func Throttle(by event.Limit) Fault {
	code, limit := Throttling, ""
	switch by {
	case event.KeyRange:
		limit = "KeyRangeThroughputExceeded"
	case event.OnDemand:
		limit = "MaxOnDemandThroughputExceeded"
	case event.Provisioned:
		code, limit = ThroughputExceeded, "ProvisionedThroughputExceeded"
	case event.Account:
		code, limit = RequestLimit, "AccountLimitExceeded"
	}
	return refuse("throttle by "+by.String(), code, limit)
}

func refuse(name string, code Code, limit string) Fault {
	return Fault{name: name, shape: func(g *fault.Gate) fault.Fate {
		return fault.Fate{
			There:   fault.Leg{Reached: g.Reach},
			Refusal: &fault.Refusal{Code: string(code), Message: code.message(), Limit: limit},
		}
	}}
}

// SplitTransaction makes the items of a TransactWriteItems visible one by one, each
// after its delay, or at once without a delay. The package comment says what other
// requests see meanwhile. The client is answered when all items are visible. If it
// gives up before that, the transaction is completed all the same.
func SplitTransaction(delays ...time.Duration) Fault {
	delays = append([]time.Duration{}, delays...) // never nil: that would be no split
	return split(fmt.Sprint("split transaction ", delays), func(int, int) []time.Duration { return delays })
}

// SplitTransactions is [SplitTransaction] with random delays: the items of a
// transaction become visible in random order within a random part of the window. The
// same seed and the same transactions give the same delays.
func SplitTransactions(window time.Duration, seed uint64) Fault {
	s := embedded.Splitting{Window: window}
	return split("split transaction within "+window.String(), func(fired, items int) []time.Duration {
		return s.Delays(rand.New(rand.NewPCG(seed, uint64(fired))), items)
	})
}

func split(name string, delays func(fired, items int) []time.Duration) Fault {
	f := one(fault.None, "", 0).Of("TransactWriteItems")
	f.name = name
	f.split = delays
	return f
}

// one returns a fault of that kind. The gate is reached when a request meets it.
func one(kind fault.Kind, detail string, d time.Duration) Fault {
	return Fault{name: kind.String() + detail, shape: func(g *fault.Gate) (fate fault.Fate) {
		fate.Add(kind, d).Reached = g.Reach
		return fate
	}}
}

// Of narrows the fault down to requests of these operations, such as
// "UpdateItem".
func (f Fault) Of(operations ...string) Fault {
	return f.Where(func(r Request) bool { return slices.Contains(operations, r.Operation) })
}

// On narrows the fault down to requests that name the item with this key. An empty sort
// key means every item of the partition. A Query names no item: use Mentioning for it.
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

// Where narrows the fault down further, to requests for which match returns true. match
// is called from the goroutines that send, and must not send requests.
func (f Fault) Where(match func(Request) bool) Fault {
	f.where = append(slices.Clip(f.where), match)
	return f
}

// WithProbability narrows the fault down to a random share p of the requests that match
// otherwise. The same seed and the same requests give the same faults.
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

// Nth narrows the fault down to the k-th request that matches, counted from 1.
func (f Fault) Nth(k int) Fault { return f.After(k - 1).Times(1) }

// LandingAnyway lets a request that is delayed or held on its way to the table be
// applied although its caller has given up.
func (f Fault) LandingAnyway() Fault {
	f.anyway = true
	return f
}

// String returns the name of the fault in the log.
func (f Fault) String() string { return f.name }
