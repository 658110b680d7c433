package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// A waiter is stuck if its goroutine does not go on, while the one that renews its
// row does: here in a read that neither returns nor ends with its context.

// attention is more than the time after which the library counts a waiter that does
// not look as stuck (Config.attention), with a sleep and an attempt before it.
const attention = time.Minute

// stick makes the next read of a process hang.
func (w *world) stick(r *rand.Rand) {
	n, d := w.one(r), attention+time.Duration(r.Float64()*float64(2*time.Minute))
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hang = d
}

// looks notes when a process last looked at an entity's queues. All of its requests
// count as looks but those for rows, and so does the first renewal of a row, because
// a waiter does not look while its row is not known to be in the table. A row may not
// be renewed long after the last look, not counting how long the process was paused
// still. looks also lets a read hang that is to.
func (n *node) looks(req *http.Request, body []byte) {
	operation := req.Header.Get("X-Amz-Target")
	operation = operation[strings.IndexByte(operation, '.')+1:]
	var b struct{ Key, Item map[string]any }
	if err := json.Unmarshal(body, &b); err != nil {
		panic(err) // the SDK wrote it
	}
	row, rowKey := isRow(b.Key) || isRow(b.Item), fmt.Sprint(b.Key)
	var hang time.Duration
	n.mu.Lock()
	went := n.now() - n.stood.Load() + int64(max(0, time.Until(n.frozen))) // for how long it was not paused
	for _, entity := range n.entities {
		switch {
		case !bytes.Contains(body, []byte(entity)):
		case !row:
			n.looked[entity] = went
		case operation == "UpdateItem" && !n.renewed[rowKey]:
			n.renewed[rowKey], n.looked[entity] = true, went
		case operation == "UpdateItem":
			if unseen := time.Duration(went - n.looked[entity]); unseen > attention {
				n.violate("%s renews a row of %s, and has not looked for %v", n.name, entity, unseen)
			}
		}
	}
	if operation == "GetItem" || operation == "Query" {
		hang, n.hang = n.hang, 0
	}
	n.mu.Unlock()
	if hang == 0 || n.clear.Load() {
		return
	}
	n.harm("stuck read")
	n.add(n.name, "is stuck in a read for %v", hang)
	n.halt((hang + time.Second - 1).Truncate(time.Second))
}

// stall pauses the goroutine of one request for up to three leases, while the rest
// of its process continues. It reports whether it did.
func (n *node) stall(r *rand.Rand) bool {
	if r.Float64() >= n.plan.Chances.Stall || n.clear.Load() || n.ending.Load() {
		return false
	}
	d := time.Duration(r.Float64() * 3 * float64(n.plan.TTL))
	n.harm("stalled goroutine")
	n.add(n.name, "has a goroutine that stalls for %v", d)
	n.diary.harm(n.name, "# a goroutine of %s stalls", fmt.Sprintf("for %v", d.Round(time.Second/10)))
	n.loose.Add(1)
	n.halt(d)
	return true
}

// halt pauses one goroutine for d, or until the weather clears or its process ends.
func (n *node) halt(d time.Duration) {
	begun := time.Now()
	for time.Since(begun) < d && !n.clear.Load() && !n.ending.Load() && n.ctx.Err() == nil {
		time.Sleep(min(time.Second, d-time.Since(begun)))
	}
	n.stood.Add(int64(time.Since(begun)))
}

// isRow reports whether a key, or an item, is that of a queue row.
func isRow(item map[string]any) bool {
	sk, _ := item["sk"].(map[string]any)
	text, _ := sk["S"].(string)
	_, number, ok := strings.Cut(text, "/")
	return ok && strings.Trim(number, "0") != ""
}
