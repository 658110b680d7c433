package sim

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/embedded/value"
	"github.com/queuelock/queuelock/internal/testbed/story"
)

// diary keeps the latest of what happens to each queue, until something is violated. Nothing is worded before that: see tale.
type diary struct {
	world *world

	mu     sync.Mutex
	queues map[string][]event // guarded by mu; by name, and of processes by ""
	last   int                // guarded by mu
	owners map[string]string  // guarded by mu; the queue of the latest attempt of each owner
	bad    string             // guarded by mu; the first violation
	at     string             // guarded by mu; the queue that it is of
	judged int                // guarded by mu; how many of the audit's violations
}

// latest is how many events of a queue are kept.
const latest = 600

type event struct {
	at     int64
	number int
	kind   eventKind
	who    string   // an owner, or a process
	ask    *ask     // of a request
	came   *arrival // of one that arrives
	text   string
}

type eventKind int

const (
	comesIn  eventKind = iota // an owner wants the lock
	does                      // text is a story.Step of who
	hears                     // text is a story.Effect of who
	ends                      // the same, and its turn is over
	sends                     // a request
	arrives                   // at the engine
	answered                  // the request has an answer, or will have none
	erases                    // an item disappears
	violates
)

// ask is a request of a process.
type ask struct {
	process   string // "": an operator
	queue     string
	operation string
	body      []byte
	code      int // of the answer; 0: it has none
}

// arrival is a request at the engine.
type arrival struct {
	code   int
	answer bytes.Buffer
	record value.Item // as the request has left it
}

type askKey struct{}
type arrivalKey struct{}

func newDiary(w *world) *diary {
	return &diary{world: w, queues: map[string][]event{}, owners: map[string]string{}}
}

// note adds an event to a queue.
func (d *diary) note(queue string, e event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noteLocked(queue, e)
}

func (d *diary) noteLocked(queue string, e event) {
	all := d.queues[queue]
	if e.at == 0 {
		e.at = d.world.now()
	}
	d.last++
	e.number = d.last
	switch {
	case d.bad != "" && len(all) >= 3*latest:
		return
	case d.bad == "" && len(all) >= 2*latest:
		all = append(all[:0], all[latest:]...)
	}
	d.queues[queue] = append(all, e)
}

// comes notes that an owner wants a lock.
func (d *diary) comes(key queuelock.Key, owner string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owners[owner] = name(key)
	d.noteLocked(name(key), event{kind: comesIn, who: owner})
}

// do notes what an owner does.
func (d *diary) do(key queuelock.Key, owner string, step story.Step) {
	d.note(name(key), event{kind: does, who: owner, text: string(step)})
}

// hear notes what an owner has heard.
func (d *diary) hear(key queuelock.Key, owner, effect string) {
	d.note(name(key), event{kind: hears, who: owner, text: effect})
}

// end notes what an owner has heard at the end of its turn.
func (d *diary) end(key queuelock.Key, owner, effect string) {
	d.note(name(key), event{kind: ends, who: owner, text: effect})
}

// harm notes what a process suffers.
func (d *diary) harm(process string, step story.Step, how string) {
	d.note("", event{kind: does, who: process, text: strings.TrimRight(string(step)+"\n    "+how, "\n ")})
}

// violated notes a violation.
func (d *diary) violated(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bad != "" {
		return
	}
	if at := d.queueOf(what); at != "" {
		d.bad, d.at = what, at
		d.noteLocked(at, event{kind: violates, text: what})
	}
}

// queueOf finds the queue of which a violation is. d.mu is held.
func (d *diary) queueOf(violation string) string {
	for _, key := range d.world.keys {
		if strings.Contains(violation, name(key)) || strings.Contains(violation, key.String()) || strings.Contains(violation, key.Entity+" "+key.Reason+"/") {
			return name(key)
		}
	}
	for owner, queue := range d.owners {
		if slices.Contains(strings.FieldsFunc(violation, func(r rune) bool { return strings.ContainsRune(" :,;()[]\"", r) }), owner) {
			return queue
		}
	}
	return ""
}

// asks notes a request that is sent. It returns the request with what it must carry.
func (d *diary) asks(process string, r *http.Request, body []byte) (*http.Request, *ask) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	a := &ask{process: process, operation: operation, body: body}
	for _, key := range d.world.keys {
		if bytes.Contains(body, []byte(`"S":"`+key.Entity+`"`)) && bytes.Contains(body, []byte(`"S":"`+key.Reason+`/`)) {
			a.queue = name(key)
		}
	}
	if a.queue != "" {
		d.note(a.queue, event{kind: sends, who: process, ask: a})
	}
	return r.WithContext(context.WithValue(r.Context(), askKey{}, a)), a
}

// answers notes how a request has ended for its sender.
func (d *diary) answers(a *ask, resp *http.Response, err error) {
	if err == nil {
		a.code = resp.StatusCode
	}
	if a.queue != "" {
		d.note(a.queue, event{kind: answered, who: a.process, ask: a})
	}
}

// serve lets an engine answer a request, and notes that.
func (d *diary) serve(engine http.Handler, rw http.ResponseWriter, r *http.Request) {
	a, ok := r.Context().Value(askKey{}).(*ask)
	if !ok {
		r, a = d.asks("", r, bodyOf(r))
	}
	if a.queue == "" {
		engine.ServeHTTP(rw, r)
		return
	}
	came := &arrival{}
	d.note(a.queue, event{kind: arrives, who: a.process, ask: a, came: came})
	engine.ServeHTTP(&listening{rw, came}, r.WithContext(context.WithValue(r.Context(), arrivalKey{}, came)))
	for _, violation := range d.fresh(d.world.audit.Violations()) {
		d.violated(violation)
	}
}

// fresh returns the violations that it has not returned before.
func (d *diary) fresh(all []string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.judged
	d.judged = len(all)
	return all[n:]
}

// listening is an answer of which a copy is kept.
type listening struct {
	http.ResponseWriter
	to *arrival
}

func (l *listening) WriteHeader(code int) {
	l.to.code = code
	l.ResponseWriter.WriteHeader(code)
}

func (l *listening) Write(b []byte) (int, error) {
	l.to.code = cmp.Or(l.to.code, http.StatusOK)
	l.to.answer.Write(b)
	return l.ResponseWriter.Write(b)
}

// changed notes a change of an item.
func (d *diary) changed(by *http.Request, c embedded.Change) {
	queue, ok := d.world.recordOf(c)
	if !ok {
		return
	}
	if by != nil {
		if came, ok := by.Context().Value(arrivalKey{}).(*arrival); ok {
			came.record = c.Item
			return
		}
	}
	if c.Item == nil {
		d.note(queue, event{kind: erases})
	}
}

func (w *world) isQueue(queue string) bool {
	return slices.ContainsFunc(w.keys, func(key queuelock.Key) bool { return name(key) == queue })
}

// recordOf returns the queue whose record has changed.
func (w *world) recordOf(c embedded.Change) (queue string, ok bool) {
	reason, padded, ok := strings.Cut(c.Key["sk"].Text, "/")
	queue = c.Key["pk"].Text + " " + reason
	return queue, ok && strings.Trim(padded, "0") == "" && w.isQueue(queue)
}
