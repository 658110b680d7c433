package sim

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
	"github.com/queuelock/queuelock/internal/testbed/story"
)

// fate decides what happens to a request.
func (n *node) fate(req faultnet.Request) fault.Fate {
	r := n.chances(n.nameOfBody(req.Operation, "fate", req.Body), 0)
	fate := fault.Fate{
		There: fault.Leg{Delay: n.way(r)},
		Back:  fault.Leg{Delay: n.way(r)},
	}
	if n.plan.Split.Window > 0 && req.Operation == "TransactWriteItems" {
		fate.Split = n.plan.Split.Delays(r, len(req.Items()))
		n.harm("split transaction")
	}
	if n.clear.Load() {
		return fate
	}
	if c := n.plan.Chances.Overtake; c > 0 && req.Operation == "UpdateItem" && r.Float64() < c {
		fate.Back.Delay += time.Duration((50 + 1950*r.Float64()) * float64(time.Millisecond))
		n.harm("answer overtaken")
	}
	n.stops(req, &fate)
	switch {
	case n.dooms(req, &fate):
	case n.breaks(req) && n.plan.Disturbed:
		code := disturbances[r.IntN(len(disturbances))]
		n.refuse(&fate, "disturbance "+code, code)
	case n.breaks(req):
		n.mark(&fate, "outage")
		fate.There.Swallowed = r.IntN(2) == 0
		fate.There.Lost = !fate.There.Swallowed
	case n.isBrownedOut():
		n.refuse(&fate, "brownout", "ThrottlingException")
	case n.isThrottled() && r.IntN(5) > 0:
		n.refuse(&fate, "throttled", "ProvisionedThroughputExceededException")
	default:
		n.harmOne(&fate, r)
	}
	return fate
}

// disturbances are refusals that a client repeats once it has had an answer: see table.Kinds.
var disturbances = []string{"ExpiredTokenException", "UnrecognizedClientException", "AccessDeniedException", "RequestTimeTooSkewed", "SomethingNewException"}

// mark names and counts the fault.
func (n *node) mark(fate *fault.Fate, kind string) {
	fate.Name = kind
	n.harm(kind)
}

// way is how long one way takes: never the same.
func (w *world) way(r *rand.Rand) time.Duration {
	return w.plan.Latency/2 + exp(r, w.plan.Latency/2) + time.Duration(r.IntN(1000))
}

// harmOne plays at most one fault on a request.
func (n *node) harmOne(fate *fault.Fate, r *rand.Rand) {
	c := n.plan.Chances
	kind, d := c.mix().Pick(r.Float64()), time.Duration(0)
	switch kind {
	case fault.None:
		return
	case fault.Refuse:
		codes := []string{"ThrottlingException", "InternalServerError", "TransactionConflictException", "ServiceUnavailable"}
		if n.plan.Disturbed {
			codes = append(codes, disturbances...)
		}
		code := codes[r.IntN(len(codes))]
		n.refuse(fate, "refuse "+code, code)
		return
	case fault.LoseResponse:
		if r.Float64() < c.Brownout {
			n.brownOut(time.Duration((0.2 + 1.3*r.Float64()) * float64(time.Second)))
		}
	case fault.DelayRequest:
		d = time.Duration(r.ExpFloat64() * float64(700*time.Millisecond))
		if r.IntN(2) > 0 {
			kind = fault.DelayResponse
		} else if fate.Anyway = r.Float64() < c.Anyway; fate.Anyway {
			n.harm("delayed request that lands anyway")
		}
	case fault.Duplicate, fault.Late:
		d = time.Duration(r.Float64() * 3 * float64(n.plan.echo()))
	}
	fate.Add(kind, d)
	n.harm(fate.Name)
	if fate.Anyway || fate.Copy != nil {
		n.loose.Add(1)
	}
}

// mix is the chances of the faults of single requests, at most one of which is
// played.
func (c Chances) mix() fault.Mix {
	return fault.Mix{
		{Kind: fault.LoseRequest, Of: c.LoseRequest}, {Kind: fault.LoseResponse, Of: c.LoseResponse},
		{Kind: fault.DelayRequest, Of: c.Slow}, {Kind: fault.Duplicate, Of: c.Duplicate}, {Kind: fault.Late, Of: c.Late},
		{Kind: fault.Refuse, Of: c.Refuse}, {Kind: fault.SwallowRequest, Of: c.SwallowRequest}, {Kind: fault.SwallowResponse, Of: c.SwallowResponse},
	}
}

func (n *node) refuse(fate *fault.Fate, kind, code string) {
	n.mark(fate, kind)
	fate.Refusal = &fault.Refusal{Code: code, Message: "simulated"}
}

// dooms lets a process die at the boundary of a request.
func (n *node) dooms(req faultnet.Request, fate *fault.Fate) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.doom != req.Operation || n.dead {
		return false
	}
	n.doom = ""
	if n.after {
		fate.Back.Lost = true
		fate.Back.Reached = func() { n.die("after a request was applied") }
	} else {
		fate.There.Lost = true
		fate.There.Reached = func() { n.die("before a request arrived") }
	}
	fate.Name = "death"
	return true
}

// breaks reports whether the operation is out for this process.
func (n *node) breaks(req faultnet.Request) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.broken == req.Operation && time.Now().Before(n.until)
}

// brownOut lets all requests of a process be throttled for a while: what makes
// one answer get lost often lets the next requests fail too.
func (n *node) brownOut(d time.Duration) {
	n.harm("brownout of a process")
	n.mu.Lock()
	defer n.mu.Unlock()
	// Not at this very instant: another request may be sent at it as well, and
	// which of them comes first is up to the goroutine scheduler.
	n.brownFrom, n.brown = time.Now().Add(time.Nanosecond), time.Now().Add(d)
}

func (n *node) isBrownedOut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !time.Now().Before(n.brownFrom) && time.Now().Before(n.brown)
}

func (w *world) isThrottled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(w.throttled)
}

// weather does harm to processes and to the table, until ctx ends.
func (w *world) weather(ctx context.Context) {
	r := w.chances("weather", 0)
	events := []struct {
		mean time.Duration
		do   func(*rand.Rand)
	}{
		{w.plan.Means.Freeze, w.freeze}, {w.plan.Means.Cut, w.cut}, {w.plan.Means.Kill, w.doomOne},
		{w.plan.Means.Retire, w.retire}, {w.plan.Means.Throttle, w.throttle}, {w.plan.Means.Outage, w.outage}, {w.plan.Means.TTL, w.expire},
		{w.plan.Means.Suspend, w.suspendOne}, {w.plan.Means.Stick, w.stick},
	}
	next := make([]time.Time, len(events))
	for i, e := range events {
		if e.mean > 0 {
			next[i] = time.Now().Add(exp(r, e.mean))
		}
	}
	for {
		first := -1
		for i := range events {
			if !next[i].IsZero() && (first < 0 || next[i].Before(next[first])) {
				first = i
			}
		}
		if first < 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(next[first])):
		}
		events[first].do(r)
		next[first] = time.Now().Add(exp(r, events[first].mean) + time.Millisecond)
	}
}

// one is a process that lives, or nil.
func (w *world) one(r *rand.Rand) *node {
	w.mu.Lock()
	nodes := slices.Clone(w.nodes)
	w.mu.Unlock()
	if len(nodes) == 0 {
		return nil
	}
	n := nodes[r.IntN(len(nodes))]
	if n == nil || n.isDead() {
		return nil
	}
	return n
}

// stop is a freeze that waits for a request of some kind.
type stop struct {
	operation string
	after     bool // the request was applied
	d         time.Duration

	asleep time.Duration // it is a suspension as well
	lost   bool          // the request, or its answer, is
}

// freeze stops a process for up to three leases: at once, or at its next
// request of some kind.
func (w *world) freeze(r *rand.Rand) {
	n, d := w.one(r), time.Duration(r.Float64()*3*float64(w.plan.TTL))
	s := stop{operation: operations[r.IntN(len(operations))], after: r.IntN(3) > 0, d: d}
	if n == nil {
		return
	}
	if r.IntN(3) == 0 {
		n.freeze(d)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stop = s
}

// stops plays a freeze that waits for such a request.
func (n *node) stops(req faultnet.Request, fate *fault.Fate) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.stop
	if s.operation != req.Operation {
		return
	}
	n.stop = stop{}
	leg := &fate.There
	if s.after {
		leg = &fate.Back
	}
	leg.Lost = s.lost
	leg.Reached = func() {
		if s.asleep > 0 {
			n.suspend(s.asleep)
		}
		n.freeze(s.d)
	}
}

// freeze stops the process.
func (n *node) freeze(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Now().Before(n.frozen) {
		return
	}
	n.harm("pause")
	n.add(n.name, "is paused for %v", d)
	n.diary.harm(n.name, story.Sleeps, fmt.Sprintf("it is paused for %v", d.Round(time.Second/10)))
	n.frozen = time.Now().Add(d)
	n.stood.Add(int64(d))
}

// cut parts a process from the table for up to two leases.
func (w *world) cut(r *rand.Rand) {
	n, d := w.one(r), time.Duration(r.Float64()*2*float64(w.plan.TTL))
	if n == nil {
		return
	}
	w.harm("partition")
	w.add(n.name, "is partitioned for %v", d)
	n.conn.Cut()
	time.AfterFunc(d, func() {
		if !n.isDead() {
			n.conn.Heal()
		}
	})
}

// doomOne lets a process die, at its next request of some kind.
func (w *world) doomOne(r *rand.Rand) {
	n, operation, after := w.one(r), operations[r.IntN(len(operations))], r.IntN(2) == 0
	if n == nil {
		return
	}
	w.harm("death")
	n.mu.Lock()
	defer n.mu.Unlock()
	n.doom, n.after = operation, after
}

// retire lets a process end well, whatever it is doing.
func (w *world) retire(r *rand.Rand) {
	if n := w.one(r); n != nil {
		w.harm("restart")
		n.retire(r)
	}
}

// throttle refuses most requests of all for a while.
func (w *world) throttle(r *rand.Rand) {
	d := time.Duration(r.Float64() * float64(3*time.Second))
	w.harm("throttling burst")
	w.add("", "the table is throttled for %v", d)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.throttled = time.Now().Add(d)
}

// operations are those that processes send. Most writes are updates.
var operations = []string{"UpdateItem", "UpdateItem", "PutItem", "DeleteItem", "Query", "GetItem", "TransactWriteItems"}

// outage breaks one operation of one process, for up to a minute and a half.
func (w *world) outage(r *rand.Rand) {
	n, operation, d := w.one(r), operations[r.IntN(len(operations))], time.Duration(r.Float64()*float64(90*time.Second))
	if n == nil {
		return
	}
	w.harm("outage of an operation")
	w.add(n.name, "cannot %s for %v", operation, d)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken, n.until = operation, time.Now().Add(d)
}

// forget is Config.Forget of the runs that forget records.
const forget = 24 * time.Hour

// expire is the table's TTL: it removes rows that have expired, days ago or
// just now, and in some runs one that has not, unless it may be named. Of records it removes most that were idle
// for Plan.Forget, at once or later.
func (w *world) expire(r *rand.Rand) {
	name := tableName
	out, err := w.direct.Scan(context.Background(), &dynamodb.ScanInput{TableName: &name})
	if err != nil {
		w.violate("the table's TTL: %v", err)
		return
	}
	for _, item := range out.Items {
		expires, ok := item["expiresAt"].(*types.AttributeValueMemberN)
		if !ok {
			continue
		}
		var seconds int64
		if _, err := fmt.Sscan(expires.Value, &seconds); err != nil {
			w.violate("expiresAt is %q", expires.Value)
			continue
		}
		due, what := time.Unix(seconds, 0), "TTL removes a row"
		early := w.plan.EarlyTTL && r.IntN(3) == 0 && !w.isNameable(item)
		if _, record := item["ticketNumber"]; record {
			due, what = due.Add(w.plan.Forget-forget), "TTL removes a record"
			early = false
		}
		if !early && due.After(w.engineClock()) {
			continue
		}
		w.harm(what)
		key := map[string]types.AttributeValue{"pk": item["pk"], "sk": item["sk"]}
		unchanged := "expiresAt = :seen"
		_, err := w.direct.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
			TableName: &name, Key: key, ConditionExpression: &unchanged,
			ExpressionAttributeValues: map[string]types.AttributeValue{":seen": expires},
		})
		if _, changed := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !changed {
			w.violate("the table's TTL: %v", err)
		}
	}
}

// isNameable reports whether a release may soon grant the lock by the name of the row, or has done so. Such a row shows
// that its waiter lives: if another program deletes it, others end the turn.
func (w *world) isNameable(row map[string]types.AttributeValue) bool {
	reason, ticket, _ := strings.Cut(text(row["sk"]), "/")
	number, ok := new(big.Int).SetString(ticket, 10)
	return ok && text(row["entryId"]) != "" && number.Cmp(new(big.Int).Add(w.audit.Floor(text(row["pk"])+" "+reason), big.NewInt(4))) <= 0
}
