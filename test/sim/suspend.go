package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/story"
)

// A suspended host's monotonic clock stops while the table's goes on. All hosts of a run
// share the bubble's clock, so the table is moved instead: a process that was suspended
// for S has a lag of S. To the others, everything it has in the table becomes older by S
// at that instant. To the process, the table's time is ahead by S from then on. The dates
// of its answers, and every time that it reads or writes, are translated at the engine by
// its lag.
//
// This covers a process whose own deadlines are in the future although its leases are
// over for all others, with an estimate of DynamoDB's time that is behind by S, and
// tokens that DynamoDB has forgotten. It does not cover that others act during S: they
// act after it, while the process is paused at its requests. An observer without dates
// does not see a lease grow older.

// lag is by how much a process's clock is behind.
type lag struct {
	behind time.Duration
	// forgotten counts the suspensions that were longer than DynamoDB remembers a
	// client request token.
	forgotten int
}

// tokenLife is for how long DynamoDB remembers a client request token.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const tokenLife = 10 * time.Minute

// suspensions are longer than a lease, or shorter, or longer than a token's life.
func (w *world) suspension(r *rand.Rand) time.Duration {
	s := time.Duration(r.Float64() * float64(w.plan.TTL))
	switch r.IntN(4) {
	case 0:
	case 1:
		s = tokenLife + 2*s
	default:
		s = w.plan.TTL + 2*s
	}
	return s.Truncate(time.Second) + time.Second // expiresAt is in seconds
}

// suspendOne suspends a process at once, or at its next request of some kind, which is
// often lost. It resumes, and is paused for a part of a lease. In that time the others
// can act while its clock says that it holds what it held.
func (w *world) suspendOne(r *rand.Rand) {
	n, s, d := w.one(r), w.suspension(r), time.Duration(r.Float64()*float64(w.plan.TTL))
	where := stop{operation: operations[r.IntN(len(operations))], after: r.IntN(2) == 0, lost: r.IntN(4) > 0, d: d, asleep: s}
	now := r.IntN(4) == 0
	if n == nil {
		return
	}
	if now {
		n.suspend(s)
		n.freeze(d)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stop = where
}

// suspend stops a process's clock for s.
func (n *node) suspend(s time.Duration) {
	mine := func(owner string) bool { return owner == n.name || strings.HasPrefix(owner, n.name+"/") }
	done := n.audit.Age(mine, s, func() bool {
		if !n.makeOlder(mine, s) {
			return false
		}
		n.world.mu.Lock()
		defer n.world.mu.Unlock()
		l := n.lags[n.name]
		l.behind += s
		if s > tokenLife {
			l.forgotten++
		}
		n.lags[n.name] = l
		n.sleeps[n.name] = append(n.sleeps[n.name], n.now())
		return true
	})
	if done {
		n.harm("suspend")
		n.add(n.name, "is suspended for %v", s)
		n.diary.harm(n.name, story.Sleeps, fmt.Sprintf("its host is suspended for %v", s.Round(time.Second/10)))
	}
}

// makeOlder moves all times of what some owners have in the table. It reports
// whether it did: not while a transaction is being committed there.
func (w *world) makeOlder(owns func(string) bool, s time.Duration) bool {
	name := tableName
	out, err := w.direct.Scan(context.Background(), &dynamodb.ScanInput{TableName: &name})
	if err != nil {
		w.violate("a suspension: %v", err)
		return false
	}
	var puts []types.TransactWriteItem
	for _, item := range out.Items {
		if w.shiftOwned(item, owns, -s) {
			puts = append(puts, types.TransactWriteItem{Put: &types.Put{TableName: &name, Item: item}})
		}
	}
	if len(puts) == 0 {
		return true
	}
	_, err = w.direct.TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{TransactItems: puts})
	if _, conflict := errors.AsType[*types.TransactionCanceledException](err); conflict {
		return false
	} else if err != nil {
		w.violate("a suspension: %v", err)
	}
	return err == nil
}

// shiftOwned moves the times in maps that belong to some owners.
func (w *world) shiftOwned(m map[string]types.AttributeValue, owns func(string) bool, by time.Duration) (moved bool) {
	owner, ok := m["owner"].(*types.AttributeValueMemberS)
	mine := ok && owns(owner.Value)
	for name, value := range m {
		switch v := value.(type) {
		case *types.AttributeValueMemberN:
			if text := w.shift(v.Value, by); mine && text != v.Value {
				m[name], moved = &types.AttributeValueMemberN{Value: text}, true
			}
		case *types.AttributeValueMemberM:
			moved = w.shiftOwned(v.Value, owns, by) || moved
		}
	}
	return moved
}

// shift moves a number if it is a time near that of the run, in milliseconds or in
// seconds. No other number of the protocol is as high, and as low.
func (w *world) shift(number string, by time.Duration) string {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return number
	}
	near := func(t time.Time) bool { d := t.Sub(w.start); return d > -24*time.Hour && d < 30*24*time.Hour }
	switch {
	case near(time.UnixMilli(n)):
		return strconv.FormatInt(n+by.Milliseconds(), 10)
	case near(time.Unix(n, 0)):
		return strconv.FormatInt(n+int64(by/time.Second), 10)
	}
	return number
}

// lagOf is the lag of a process.
func (w *world) lagOf(r *http.Request) lag {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lags[r.Header.Get(actorHeader)]
}

// serve translates between the table's time and that of a process whose clock is
// behind.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	l := w.lagOf(r)
	if l == (lag{}) {
		w.arrive(rw, r)
		return
	}
	body := read(r)
	body = w.translate(body, -l.behind, l.forgotten)
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	w.arrive(answer, r)
	l = w.lagOf(r)
	text := w.translate(answer.Body.Bytes(), l.behind, 0)
	h := rw.Header()
	for name, values := range answer.Header() {
		h[name] = values
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		h.Set("Date", date.Add(l.behind).UTC().Format(http.TimeFormat))
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(text)), 10))
	rw.WriteHeader(answer.Code)
	_, _ = rw.Write(text)
}

// translate moves all times in a request or an answer. A token of before the last
// long suspension is another to the table than it was.
func (w *world) translate(body []byte, by time.Duration, forgotten int) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return body
	}
	w.move(v, by)
	if m, ok := v.(map[string]any); ok && forgotten > 0 {
		if token, ok := m["ClientRequestToken"].(string); ok {
			m["ClientRequestToken"] = fmt.Sprintf("%.30s-%d", token, forgotten)
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded
	}
	return text
}

func (w *world) move(v any, by time.Duration) {
	switch v := v.(type) {
	case map[string]any:
		if n, ok := v["N"].(string); ok && len(v) == 1 {
			v["N"] = w.shift(n, by)
			return
		}
		for _, member := range v {
			w.move(member, by)
		}
	case []any:
		for _, member := range v {
			w.move(member, by)
		}
	}
}

// endFrom is the earliest instant at which a lock can have ended for all others,
// if its holder has not heard of its end by the instant at: that one, or that of
// the first suspension within its lease.
func (h *hold) endFrom(at int64) int64 {
	if h.closed {
		return at // it has no lease that could be over
	}
	h.world.mu.Lock()
	defer h.world.mu.Unlock()
	for _, slept := range h.sleeps[h.name] {
		if slept >= h.begun && slept > at-int64(h.lease) {
			return min(at, slept)
		}
	}
	return at
}

// sleptOver reports whether the holder may believe, in good faith, in a lease that
// is over: its host was suspended within that lease.
func (h *hold) sleptOver() bool { return h.endFrom(h.now()) < h.now() }
