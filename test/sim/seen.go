package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/conditions"
	"github.com/queuelock/queuelock/internal/testbed/transition"
)

type ownerKey struct{}

// of marks the requests of an owner's call.
func of(ctx context.Context, owner string) context.Context {
	return context.WithValue(ctx, ownerKey{}, owner)
}

// ownerOf returns whose call has sent a request; "" if that is not known.
func ownerOf(r *http.Request) string {
	owner, _ := r.Context().Value(ownerKey{}).(string)
	return owner
}

// learns notes what the caller of a request has learnt: rows, and when it read a record.
func (n *node) learns(req *http.Request, a *ask, resp *http.Response, err error) {
	owner := ownerOf(req)
	if owner == "" || err != nil || resp.StatusCode != http.StatusOK || !isRead(a) {
		return
	}
	if a.operation == "GetItem" && !isDate(a) {
		n.results.read(owner, n.now())
	}
	p := n.policies.group(owner)
	if p == nil || a.operation != "Query" {
		return
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return
	}
	var w wire
	_ = json.Unmarshal(body, &w) // the engine has written it
	n.policies.mu.Lock()
	defer n.policies.mu.Unlock()
	p.look = nil
	for _, item := range w.Items {
		_, number, _ := strings.Cut(item["sk"].Text, "/")
		if ticket, ok := new(big.Int).SetString(number, 10); ok && ticket.Sign() > 0 {
			until, _ := strconv.ParseInt(item["until"].Number.String(), 10, 64)
			p.look = append(p.look, rowSeen{owner: item["owner"].Text, group: item["group"].Text, ticket: ticket, until: time.UnixMilli(until)})
		}
	}
}

// rowSeen is a row that a look has shown.
type rowSeen struct {
	owner, group string
	ticket       *big.Int
	until        time.Time
}

// group returns the policy of an owner that has a group; nil if it has none.
func (p *policies) group(owner string) *policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.of[owner]; of != nil && of.group != "" {
		return of
	}
	return nil
}

// superseded returns the row by which the last look of the owner has shown that a later waiter of its group is there.
func (p *policy) superseded(owner string, now time.Time) (mine, later *rowSeen) {
	for i := range p.look {
		switch row := &p.look[i]; {
		case row.owner == owner:
			mine = row
		case mine != nil && row.group == p.group && row.ticket.Cmp(mine.ticket) > 0 && now.Before(row.until):
			later = row
		}
	}
	return mine, later
}

var shapes = sync.OnceValue(func() transition.Names { return transition.NewNames(conditions.Shapes()) })

// judgeSent judges a request that is sent: a waiter does not claim the lock if its last look has shown that it is superseded.
// Of a process with several workers, others may have looked for it.
func (n *node) judgeSent(req *http.Request, a *ask) {
	owner := ownerOf(req)
	p := n.policies.group(owner)
	if p == nil || n.workers > 1 || a.operation != "UpdateItem" {
		return
	}
	if writes := shapes().Of(a.body); len(writes) == 0 || writes[0].Write.Name != "CLAIM" {
		return
	}
	n.policies.mu.Lock()
	mine, later := p.superseded(owner, n.engineClock().Add(n.lagOf(req).behind+time.Second))
	n.policies.mu.Unlock()
	if later != nil {
		n.violate("%s claims %s with ticket %s although its last look has shown ticket %s of its group", owner, p.queue, mine.ticket, later.ticket)
	}
}
