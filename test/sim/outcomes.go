package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/embedded/value"
)

// What calls say of their outcomes is compared with what the engine did. The
// truth of a release is which request removed the holder's entry; that of a write
// is the log that the register, or the account, keeps of all values it has had.

// grantID names a grant.
type grantID struct{ queue, ticket, owner string }

// removal says who removed a holder's entry, and whether by a release.
type removal struct {
	actor   string
	release bool
}

type bodyKey struct{}

// bodyOf returns the body of a request that a process has sent; nil of another one, or of none.
func bodyOf(r *http.Request) (body []byte) {
	if r != nil {
		body, _ = r.Context().Value(bodyKey{}).([]byte)
	}
	return body
}

// read reads a request's body, and leaves it there.
func read(r *http.Request) []byte {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err) // it is in memory
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// arrive is the engine behind the network. Of a protected write it notes who holds
// the lock when it arrives, which is when its conditions are checked.
func (w *world) arrive(rw http.ResponseWriter, r *http.Request) {
	body := read(r)
	r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, body))
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		var t struct {
			TransactItems []struct {
				Update struct {
					Key                       map[string]struct{ S string }
					ExpressionAttributeValues map[string]struct{ S string }
				}
			}
		}
		if err := json.Unmarshal(body, &t); err != nil {
			panic(err)
		}
		for _, item := range t.TransactItems {
			if queue, ok := strings.CutPrefix(item.Update.Key["pk"].S, registerPrefix); ok {
				value, holders := item.Update.ExpressionAttributeValues[":value"].S, w.audit.Holders(queue)
				w.mu.Lock()
				w.served[value] = append(w.served[value], holders...)
				w.mu.Unlock()
			}
		}
	}
	w.diary.serve(w.audit, rw, r)
}

// removed notes the end of a holder's entry.
func (w *world) removed(by *http.Request, queue, ticket, owner string) {
	r := removal{actor: "TTL"}
	if by != nil {
		r = removal{by.Header.Get(actorHeader), isRelease(bodyOf(by))}
	}
	w.add("", "%s with ticket %s no longer holds %s, by %s", owner, ticket, queue, r.actor)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removals[grantID{queue, ticket, owner}] = r
}

// isRelease says that a request which removes its sender's entry is a release, and
// no clean-up after a loss: a release of any form changes more of the record.
func isRelease(request []byte) bool {
	if bytes.Contains(request, []byte(`evicted"`)) {
		return false // an eviction, of which some ask for servingAfter too
	}
	for _, name := range []string{`"turn"`, `"released"`, `"lock_released"`, `servingAfter"`, `"amount"`} {
		if bytes.Contains(request, []byte(name)) {
			return true
		}
	}
	return false
}

// changed takes in changes of what locks protect.
func (w *world) changed(by *http.Request, changes []embedded.Change) {
	if !w.plan.AnyWrites {
		for _, problem := range w.writes.Judge(bodyOf(by), changes) {
			w.violate("%s", problem)
		}
	}
	for _, c := range changes {
		w.diary.changed(by, c)
		w.change(by, c)
		if queue, ok := w.recordOf(c); ok {
			w.judgeMarks(queue, c.Item)
			w.judgeLeft(queue, c.Item)
		}
	}
}

func (w *world) change(by *http.Request, c embedded.Change) {
	pk := c.Key["pk"].Text
	if queue, ok := strings.CutPrefix(pk, registerPrefix); ok {
		w.logs(queue, c.Item, w.visible.locks[queue])
		return
	}
	if pk != text(account["pk"]) {
		return
	}
	w.logs("", c.Item, true)
	now := map[grantID]bool{}
	for _, entry := range c.Item["lock_holders"].Fields {
		ticket := new(big.Int)
		if t, ok := entry.Fields["ticket"]; ok {
			ticket.SetString(t.Number.String(), 10)
		} else {
			ticket.SetString(c.Item["lock_servingAfter"].Number.String(), 10)
			ticket.Add(ticket, big.NewInt(1))
		}
		now[grantID{"account", ticket.String(), entry.Fields["owner"].Text}] = true
	}
	before := w.itemHolders
	w.itemHolders = now
	for id := range before {
		if !now[id] && w.removals[id] == (removal{}) {
			w.removed(by, id.queue, id.ticket, id.owner)
		}
	}
}

// logs judges what has come to a log: each value once, while its lock was held,
// and, if one holds at a time, with the number of all before it.
func (w *world) logs(queue string, item value.Item, counts bool) {
	for i, entry := range item["log"].Elems {
		w.mu.Lock()
		old := i < w.logged[queue]
		again := w.values[entry.Text]
		if !old {
			w.logged[queue] = i + 1
			w.values[entry.Text] = true
		}
		served := w.served[entry.Text]
		w.mu.Unlock()
		if old {
			continue
		}
		w.add("", "%s is written", entry.Text)
		written, count, _ := strings.Cut(entry.Text, "=")
		if again {
			w.violate("the protected write of %s was made twice", written)
		}
		if token := item["token"].Number.String(); queue != "" && !slices.Contains(served, token) {
			w.violate("a protected write with ticket %s committed while the record of %s serves tickets %q", token, queue, served)
		}
		if counts && !again && count != fmt.Sprint(i+1) {
			w.violate("an update is lost: %s is write number %d", entry.Text, i+1)
		}
	}
}

func text(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// length is that of a log.
func length(item map[string]types.AttributeValue) int {
	list, _ := item["log"].(*types.AttributeValueMemberL)
	if list == nil {
		return 0
	}
	return len(list.Value)
}

// outcome is what a call said of a write.
type outcome int

const (
	saidMade outcome = iota
	saidNotMade
	saidUnknown
)

// outcomeOf reads an error as documented: all but one say that nothing was written.
func outcomeOf(err error) outcome {
	if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); unknown {
		return saidUnknown
	}
	if err == nil {
		return saidMade
	}
	return saidNotMade
}

// judgeWrite compares what a call said of a write with its log.
func (n *node) judgeWrite(what, owner, value string, err error) outcome {
	said := outcomeOf(err)
	if n.isDead() {
		return said
	}
	n.did("outcomes")
	n.world.mu.Lock()
	made := n.values[value]
	n.world.mu.Unlock()
	switch {
	case said == saidMade && !made:
		n.violate("%s: %s returned nil, and %s was not written", owner, what, value)
	case said == saidNotMade && made:
		n.violate("%s: %s wrote %s, and returned: %v", owner, what, value, err)
	case said == saidNotMade:
		n.world.mu.Lock()
		n.notMade[value] = fmt.Sprintf("%s: %s of %s returned: %v", owner, what, value, err)
		n.world.mu.Unlock()
	case said == saidUnknown:
		n.did("unknown")
		if n.plan.calm() {
			n.violate("%s: the outcome of %s is unknown although nothing was lost: %v", owner, what, err)
		}
	}
	return said
}

// judgeRelease compares what a release, of any kind, said of a lock that was held
// before it with what removed the lock's entry. A turn of a block may end while the entry stays.
func (n *node) judgeRelease(what, owner string, id grantID, err error, inBlock bool) {
	if n.isDead() {
		return
	}
	n.did("outcomes")
	n.world.mu.Lock()
	by, gone := n.removals[id]
	n.world.mu.Unlock()
	mine := gone && by.actor == n.name && by.release
	loss, lost := err.(*queuelock.LostError)
	lost = lost && loss.Cause == heartbeat.Evicted
	switch {
	case err == nil && inBlock: // the next turn may have begun, and that one may be evicted
	case err == nil && !gone:
		n.violate("%s: %s returned nil, and the lock is still in the record", owner, what)
	case err == nil && by.actor != n.name:
		n.violate("%s: %s returned nil, and the lock was removed by %s", owner, what, by.actor)
	case lost && mine:
		n.violate("%s: %s released the lock, and returned: %v", owner, what, err)
	case outcomeOf(err) == saidUnknown:
		n.did("unknown")
		if n.plan.calm() {
			n.violate("%s: the outcome of %s is unknown although nothing was lost: %v", owner, what, err)
		}
	}
}

// judgeLoss compares the loss of a lock that was held, and that was not about to be
// released, with what removed its entry.
func (h *hold) judgeLoss(err error) {
	loss, ok := errors.AsType[*queuelock.LostError](err)
	if !ok || loss.Cause != heartbeat.Evicted || h.isDead() {
		return
	}
	h.world.mu.Lock()
	by, gone := h.removals[h.id]
	h.world.mu.Unlock()
	if !gone || by.actor == h.name && by.release {
		h.violate("%s: reported an eviction that was none (gone: %t): %v", h.owner, gone, err)
	}
}

// judgeNotMade looks, in the end, for writes that were made although a call had
// said that nothing was written.
func (w *world) judgeNotMade() {
	for value, said := range w.notMade {
		if w.values[value] {
			w.violate("%s was written after all: %s", value, said)
		}
	}
}
