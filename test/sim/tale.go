package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/embedded/value"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/testbed/conditions"
	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/internal/testbed/transition"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// How long a story is: the lines before the violation, and after it.
const (
	linesBefore = 40
	linesAfter  = 5
)

// tale words what a diary has of one queue.
//
// Looks that show nothing new or have no answer are left out, and heartbeats that arrive as they should. A client is a worker
// of a process.
type tale struct {
	d      *diary
	items  queue.Items
	events []event
	names  transition.Names
	owners map[string]string   // by the first part of their ids
	rows   map[string]string   // the ids of rows, by their sort keys
	here   map[string][]string // the owners that wait or hold, by process

	skipped []bool
	lines   []line
}

// line is a line of a story, in which clients and ids are not letters yet.
type line struct {
	at          int64
	text, state string // state is what is known of the record after it
	bad         bool
}

// tell returns the story of the queue with the first violation; "" if that is of no queue.
func (d *diary) tell() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bad == "" {
		return ""
	}
	t := &tale{d: d, names: transition.NewNames(conditions.Shapes()), owners: map[string]string{}, rows: map[string]string{}, here: map[string][]string{}}
	t.items = queue.Items{PK: "pk", SK: "sk", TTL: "expiresAt"}
	t.items.Entity, t.items.Reason, _ = strings.Cut(d.at, " ")
	t.events = append(slices.Clone(d.queues[d.at]), d.queues[""]...)
	slices.SortStableFunc(t.events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.number, b.number)) })
	for _, e := range t.events {
		if e.ask != nil {
			t.learn(e.ask.body)
		}
		if e.came != nil {
			t.learn(e.came.answer.Bytes())
		}
	}
	t.skip()
	for i := range t.events {
		t.word(i)
	}
	return t.print()
}

func (t *tale) learn(text []byte) {
	for id, owner := range transition.Owners(text) {
		t.owners[id] = owner
	}
	var w wire
	_ = json.Unmarshal(text, &w)
	for _, item := range append(w.Items, w.Item) {
		if id := item["id"].Text; id != "" {
			t.rows[item["sk"].Text] = id
		}
	}
}

// client is what takes the place of a letter, until it is known which clients occur.
func client(owner string) string {
	process, worker, ok := strings.Cut(owner, "/")
	if !ok {
		return "‹" + process + "›"
	}
	worker, _, _ = strings.Cut(worker, "-")
	return "‹" + process + "/" + worker + "›"
}

// request names a request, its sender and its id.
func (t *tale) request(a *ask) (name, sender string) {
	writes := t.names.Of(a.body)
	var ids []string
	for _, w := range writes {
		ids = append(ids, w.IDs...)
	}
	for _, id := range ids {
		prefix, _, _ := strings.Cut(id, "-")
		if owner := t.owners[prefix]; strings.HasPrefix(owner, a.process+"/") {
			sender = owner
			break
		}
	}
	if sender == "" && len(t.here[a.process]) > 0 {
		sender = t.here[a.process][0]
	}
	sender = cmp.Or(sender, a.process)
	switch {
	case a.operation == "Query":
		return t.look(a), sender
	case a.operation == "GetItem" || len(writes) == 0:
		return story.Bare, sender
	case a.operation == "TransactWriteItems" && writes[0].Write.Kind != clause.Check:
		return "TRANSACT x", sender
	}
	w := writes[0]
	id := ""
	switch w.Write.Name {
	case "RELEASE", "PASS", "SETTLE", "DOWNGRADE", "SETDATA", "RESET", "FENCE": // of their senders
	case "CLEAN UP":
		id = strings.Join(w.IDs, " and ")
	default:
		if len(w.IDs) > 0 {
			id = w.IDs[0]
		}
	}
	if id == "" {
		id = t.rows[w.SK]
	}
	return story.Write(w.Write, id), sender
}

// look names a query.
func (t *tale) look(a *ask) string {
	var q struct {
		ExpressionAttributeValues map[string]value.Value
	}
	_ = json.Unmarshal(a.body, &q) // the engine has read it
	most := ""
	for _, v := range q.ExpressionAttributeValues {
		if number, ok := strings.CutPrefix(v.Text, t.items.Reason+"/"); ok {
			most = max(most, number)
		}
	}
	return story.Look(cmp.Or(strings.TrimLeft(most, "0"), "0"))
}

func isRead(a *ask) bool { return a.operation == "Query" || a.operation == "GetItem" }

// isDate reports whether of a read only the date is used, or the bell of a row.
func isDate(a *ask) bool {
	var b struct{ Key map[string]any }
	_ = json.Unmarshal(a.body, &b) // the engine has read it
	return a.operation == "GetItem" && (!bytes.Contains(a.body, []byte("ConsistentRead")) || isRow(b.Key))
}

// wire is what is of interest in an answer.
type wire struct {
	Item, Attributes    value.Item
	Items               []value.Item
	CancellationReasons []struct {
		Code string
		Item value.Item
	}
	Type string `json:"__type"`
}

// answer words an answer, and what it shows of the record.
func (t *tale) answer(a *ask, c *arrival) (text, state string) {
	var w wire
	_ = json.Unmarshal(c.answer.Bytes(), &w)
	shown := w.Item
	fate := "not applied"
	switch {
	case c.code == 0:
		return "no answer yet", ""
	case isRead(a) && c.code == http.StatusOK:
		return t.seen(a, w)
	case c.code == http.StatusOK:
		fate, shown = story.Fate(machine.ReplyApplied), c.record
		if shown == nil {
			shown = w.Attributes
		}
	case strings.HasSuffix(w.Type, "ConditionalCheckFailedException"):
		fate = story.Fate(machine.ReplyRefused)
	case len(w.CancellationReasons) > 0:
		for _, r := range w.CancellationReasons {
			if r.Code == "ConditionalCheckFailed" {
				fate, shown = story.Fate(machine.ReplyRefused), r.Item
			}
		}
	}
	if shown["ticketNumber"].Kind == "" {
		return fate, ""
	}
	state = t.record(shown)
	return fate + "; " + state, state
}

func (t *tale) record(item value.Item) string {
	rec, err := queue.DecodeRecord(t.items, transition.ItemOf(item))
	rec.Problem = err
	return story.Record(&rec, nil)
}

// seen words the answer of a read.
func (t *tale) seen(a *ask, w wire) (text, state string) {
	if w.Item != nil {
		w.Items = []value.Item{w.Item}
	}
	var record value.Item
	var ahead []string
	for _, item := range w.Items {
		switch {
		case item["sk"].Text == t.items.RecordSortKey():
			record = item
		case strings.HasPrefix(item["owner"].Text, a.process+"/"):
			w.Items = nil // its own, and what is behind it
		case len(w.Items) > 0:
			ahead = append(ahead, item["id"].Text)
		}
	}
	text = t.record(record)
	if a.operation == "GetItem" {
		return text, text
	}
	return text + story.Ahead(ahead), text
}

// ended returns where the event is with which a request has ended for its sender, and where it arrived first; -1: nowhere.
func (t *tale) ended(a *ask) (arrived, ended int) {
	arrived, ended = -1, -1
	for i, e := range t.events {
		switch {
		case e.ask != a:
		case e.kind == arrives && arrived < 0:
			arrived = i
		case e.kind == answered:
			ended = i
		}
	}
	return arrived, ended
}

// skip finds what is left out.
func (t *tale) skip() {
	t.skipped = make([]bool, len(t.events))
	last := map[string]string{}
	for i, e := range t.events {
		if e.ask != nil && isRead(e.ask) && (isDate(e.ask) || e.ask.code != http.StatusOK) {
			t.skipped[i] = true
			continue
		}
		if e.kind != arrives {
			continue
		}
		name, _ := t.request(e.ask)
		text, _ := t.answer(e.ask, e.came)
		arrived, ended := t.ended(e.ask)
		if arrived != i || ended < 0 || e.ask.code != http.StatusOK || i+1 < len(t.events) && t.events[i+1].kind == violates {
			continue
		}
		dull := strings.HasPrefix(name, "HEARTBEAT")
		if isRead(e.ask) {
			dull = last[e.ask.process] == text && !t.acts(ended)
			last[e.ask.process] = text
		}
		if !dull {
			continue
		}
		for k := range t.events {
			if t.events[k].ask == e.ask {
				t.skipped[k] = true
			}
		}
	}
}

// acts reports whether a process sends a write as soon as it has an answer.
func (t *tale) acts(at int) bool {
	for _, e := range t.events[at:] {
		if e.at > t.events[at].at+int64(5*time.Millisecond) {
			return false
		}
		if e.kind == sends && e.who == t.events[at].who && !isRead(e.ask) {
			return true
		}
	}
	return false
}

func (t *tale) say(at int64, text string) {
	state := ""
	if len(t.lines) > 0 {
		state = t.lines[len(t.lines)-1].state
	}
	for part := range strings.SplitSeq(text, "\n") {
		t.lines = append(t.lines, line{at: at, text: part, state: state})
	}
}

// word adds the lines of an event.
func (t *tale) word(i int) {
	e := t.events[i]
	if t.skipped[i] {
		return
	}
	process, _, _ := strings.Cut(e.who, "/")
	switch e.kind {
	case comesIn:
		t.here[process] = append(t.here[process], e.who)
		t.say(e.at, story.Wants.Of(client(e.who)))
	case does:
		if e.who != process {
			t.say(e.at, fmt.Sprintf(e.text, client(e.who)))
			break
		}
		for _, owner := range t.here[process] {
			t.say(e.at, fmt.Sprintf(e.text, client(owner)))
		}
		if e.text == string(story.Crashes) {
			delete(t.here, process)
		}
	case hears:
		t.say(e.at, fmt.Sprintf(e.text, client(e.who)))
	case ends:
		t.here[process] = slices.DeleteFunc(t.here[process], func(owner string) bool { return owner == e.who })
		t.say(e.at, fmt.Sprintf(e.text, client(e.who)))
	case erases:
		t.say(e.at, story.Erased.Of())
	case violates:
		t.say(e.at, "# VIOLATION: "+short(e.text))
		t.lines[len(t.lines)-1].bad = true
	default:
		t.wordRequest(i, e)
	}
}

// short is what a story has of a violation: its first words, and the write that was meant.
func short(violation string) string {
	first, rest, _ := strings.Cut(violation, "\n")
	if text := []rune(first); len(text) > 200 {
		first = string(text[:200]) + " …"
	}
	for line := range strings.SplitSeq(rest, "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "the nearest is") {
			first += " " + line
		}
	}
	return first
}

// wordRequest adds the lines of what happens to a request.
func (t *tale) wordRequest(i int, e event) {
	name, sender := t.request(e.ask)
	what := story.By(name, client(sender))
	if e.ask.process == "" {
		what = "the operator's " + name
	}
	arrived, ended := t.ended(e.ask)
	well := arrived >= 0 && ended >= 0 && e.ask.code != 0
	slowly := well && slices.ContainsFunc(t.between(arrived, ended), func(other event) bool { return other.ask != e.ask })
	looks := well && isRead(e.ask)
	switch e.kind {
	case sends:
		if !looks && e.ask.process != "" {
			t.say(e.at, story.Sends.Of(client(sender), name))
		}
	case arrives:
		step := story.Arrives
		switch {
		case e.ask.process == "":
		case i != arrived || ended >= 0 && ended < i:
			what = "the late " + what
		case looks && slowly:
			step, what = story.LooksSlowly, client(sender)
		case looks:
			step, what = story.Looks, client(sender)
		case !well:
			step = story.Mute
		case slowly:
			step = story.ArrivesSlowly
		}
		t.say(e.at, step.Of(what))
		text, state := t.answer(e.ask, e.came)
		t.say(e.at, story.Table.Of(text))
		if state != "" {
			t.lines[len(t.lines)-1].state = state
		}
	case answered:
		switch {
		case slowly:
			t.say(e.at, story.AnswerArrives.Of(what))
		case arrived > i:
			t.say(e.at, story.Late.Of(what))
		case arrived < 0 && e.ask.code != 0:
			t.say(e.at, story.Throttled.Of(what))
		case arrived < 0:
			t.say(e.at, story.Lost.Of(what))
		}
	}
}

// between returns the events between two that are not left out.
func (t *tale) between(from, to int) (all []event) {
	for i := from + 1; i < to; i++ {
		if e := t.events[i]; !t.skipped[i] && (strings.Contains(e.who, "/") || e.ask != nil) {
			all = append(all, e)
		}
	}
	return all
}

var (
	clientForm = regexp.MustCompile(`‹[^›]*›`)
	idForm     = regexp.MustCompile(`\b([0-9a-z]{16,})-(\d+|n\d+|r\d+-\d+)\b`)
)

// compress leaves out what is sent again and again and does not arrive.
func (t *tale) compress() {
	var kept []line
	for i := 0; i < len(t.lines); i++ {
		if n := len(kept); n >= 2 && i+1 < len(t.lines) && strings.HasPrefix(t.lines[i+1].text, "is ") &&
			t.lines[i].text == kept[n-2].text && t.lines[i+1].text == kept[n-1].text {
			i++
			continue
		}
		kept = append(kept, t.lines[i])
	}
	t.lines = kept
}

// print gives clients their letters, and returns the last lines.
func (t *tale) print() string {
	t.compress()
	bad := slices.IndexFunc(t.lines, func(l line) bool { return l.bad })
	from, to := max(0, bad+1-linesBefore), min(len(t.lines), bad+1+linesAfter)
	for from < bad && strings.HasPrefix(t.lines[from].text, " ") {
		from++
	}
	letters, turns, owners := map[string]string{}, map[string]int{}, map[string]string{}
	letter := func(of string) string {
		if letters[of] == "" {
			letters[of] = story.Client(len(letters))
		}
		return letters[of]
	}
	id := func(found string) string {
		parts := idForm.FindStringSubmatch(found)
		prefix, rest := parts[1], parts[2]
		if owners[prefix] == "" {
			c := client(cmp.Or(t.owners[prefix], prefix))
			turns[c]++
			owners[prefix] = fmt.Sprint(letter(c), turns[c])
		}
		return owners[prefix] + "-" + rest
	}
	var b strings.Builder
	if from > 0 && t.lines[from-1].state != "" {
		fmt.Fprintf(&b, "# at first: %s\n", idForm.ReplaceAllStringFunc(t.lines[from-1].state, id))
	}
	for i, l := range t.lines[from:to] {
		if i > 0 && l.at-t.lines[from+i-1].at >= int64(2*time.Second) {
			fmt.Fprintf(&b, "# %.1f s later\n", time.Duration(l.at-t.lines[from+i-1].at).Seconds())
		}
		text := clientForm.ReplaceAllStringFunc(l.text, letter)
		fmt.Fprintln(&b, idForm.ReplaceAllStringFunc(text, id))
	}
	return t.world(letters) + b.String()
}

// world is the line that says who plays.
func (t *tale) world(letters map[string]string) string {
	kinds := make([]string, len(letters))
	var who []string
	for of, letter := range letters {
		kind := "one"
		for _, e := range t.events {
			if e.kind == comesIn && client(e.who) == of && strings.HasSuffix(e.who, readerSuffix) {
				kind = "reader"
			}
		}
		if !t.d.world.visible.locks[t.d.at] {
			kind = "permit"
		}
		kinds[letter[0]-'A'] = kind
		who = append(who, letter+" is "+strings.Trim(of, "‹›"))
	}
	slices.Sort(who)
	options := "names"
	if t.d.world.plan.Scope != ticket.ScopeQueue {
		options = "wide"
	}
	return fmt.Sprintf("# Seed %d, %s: %s.\nworld: %s; %s\n\n", t.d.world.plan.Seed, t.d.at, strings.Join(who, ", "), strings.Join(kinds, ", "), options)
}
