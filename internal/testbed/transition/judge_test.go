package transition_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/transition"
	"github.com/queuelock/queuelock/internal/testbed/writetest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

// engine is one whose changes are judged.
type engine struct {
	*embedded.Engine
	judge      *transition.Judge
	own        bool // requests are those of a simulator, and of no client
	body       []byte
	violations []string
}

func newEngine() *engine {
	e := &engine{judge: transition.New("queuelock")}
	e.Engine = embedded.New(embedded.Config{Applied: func(_ *http.Request, changes []embedded.Change) {
		e.violations = append(e.violations, e.judge.Judge(e.body, changes)...)
	}})
	return e
}

func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.body, _ = io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(e.body))
	if e.own {
		e.body = nil
	}
	e.Engine.ServeHTTP(w, r)
}

var (
	q     = queue.Items{PK: "pk", SK: "sk", TTL: "expiresAt", Entity: "e", Reason: "lock"}
	until = time.UnixMilli(1_700_000_060_000)
	later = until.Add(time.Second)
	names = q.Names()
)

func n(i uint64) ticket.Number { return ticket.FromUint64(i) }

func entry(id string) queue.Entry {
	return queue.Entry{ID: id, Owner: "o", Bell: "host:1", Lease: queue.Lease{TTL: time.Minute, Until: until}}
}

// after returns the item that writes leave.
func after(t *testing.T, key clause.Item, writes ...clause.Write) (item clause.Item) {
	t.Helper()
	for _, w := range writes {
		is, fate := w.Apply(names, item)
		if fate != clause.Applied {
			t.Fatalf("%s: fate %d", w.Name, fate)
		}
		item = maps.Clone(is)
		maps.Copy(item, key)
	}
	return item
}

func without(name string) func(clause.Write) clause.Write {
	return func(w clause.Write) clause.Write { w, _ = w.Without(name); return w }
}

func doing(more ...clause.Change) func(clause.Write) clause.Write {
	return func(w clause.Write) clause.Write { w.Do = append(w.Do[:len(w.Do):len(w.Do)], more...); return w }
}

// TestJudge sends writes as package queue describes them, of which the Judge knows the names, and with mistakes.
func TestJudge(t *testing.T) {
	counter := ticket.Master{Attribute: attr.TicketNumber, Names: names}
	held := after(t, q.RecordKey(), counter.Take(queue.Take(entry("a-1"), false), n(0)).Write, counter.Take(queue.Take(entry("b-1"), false), n(0)).Write)
	free := after(t, q.RecordKey(), counter.Take(queue.Take(entry("a-1"), false), n(0)).Write, counter.Take(queue.Take(entry("b-1"), false), n(0)).Write,
		queue.Ending{ID: "a-1", Ticket: n(1), Call: 1}.Release(queue.FormHandOff, time.Time{}))
	row := queue.Waiter{Ticket: n(2), ID: "b-r0-2", Owner: "o", Bell: "host:1", EntryID: "b-n2", CreatedAt: until, Lease: queue.Lease{TTL: time.Minute, Until: until}}
	waiting := row.Item(q)
	a := locktest.Must(queue.DecodeRecord(q, held)).Holders[0]
	mark := queue.Eviction{ID: a.ID, Ticket: a.Ticket, At: later}
	wrong := mark
	wrong.Made = 2
	beat := clause.At(attr.Holders).Entry("a-1").Field(attr.Beat)
	passes := queue.Ending{ID: "a-1", Ticket: n(1), Call: 1, Unsettled: until, Replaces: true, Next: queue.Next{Entry: entry("b-n2"), Ticket: n(2)}}
	swept := queue.DecodeRow(q, waiting)
	block := func(id string) queue.Entry { e := entry(id); e.Turns = 2; return e }
	blocked := after(t, q.RecordKey(), counter.Take(queue.Take(block("a-1"), false), n(0)).Write)
	blocks := locktest.Must(queue.DecodeRecord(q, blocked)).Holders[0]

	for _, c := range []struct {
		name   string
		before clause.Item
		write  clause.Write
		plant  func(clause.Write) clause.Write
		finds  string // in what the Judge says; "": it says that the write describes the change
	}{
		{"", nil, counter.Take(queue.Take(entry("a-1"), true), n(7)).Write, nil, ""},
		{"", free, counter.Take(queue.Take(entry("c-1"), false), n(7)).Write, nil, ""},
		{"take two", free, counter.Take(queue.Take(entry("c-1"), false), n(7)).Write, func(w clause.Write) clause.Write {
			number := clause.At(attr.TicketNumber)
			w.Do = append([]clause.Change{number.Set(number.Was().Plus(clause.Int(2)))}, w.Do[1:]...)
			return w
		}, "leaves:"},
		{"", free, queue.Claim(entry("b-2"), n(2)), nil, ""},
		{"claim what is held", held, queue.Claim(entry("b-2"), n(2)), without("room"), "these do not hold: room"},
		{"claim with one condition less", free, queue.Claim(entry("b-2"), n(2)), without("after the first served"), "nearest is CLAIM\n  sent as:"},
		{"", held, queue.Renewal{Until: later, TTL: time.Minute}.Heartbeat("a-1", n(1)), nil, ""},
		{"heartbeat as any ticket", held, queue.Renewal{Until: later}.Heartbeat("a-1", n(1)), without("its ticket"), "nearest is HEARTBEAT\n  sent as:"},
		{"heartbeat of two beats", held, queue.Renewal{Until: later}.Heartbeat("a-1", n(1)), func(w clause.Write) clause.Write {
			w.Do = append([]clause.Change{beat.Set(beat.Was().Plus(clause.Int(2)))}, w.Do[1:]...)
			return w
		}, "nearest is HEARTBEAT\n  leaves:"},
		{"", held, queue.SetData("a-1", n(1), 1, []byte("x")), nil, ""},
		{"one attribute more", held, queue.SetData("a-1", n(1), 1, []byte("x")), doing(clause.At("note").Set(clause.V(clause.Int(1)))), "leaves:"},
		{"one field more", held, queue.SetData("a-1", n(1), 1, []byte("x")), doing(clause.At(attr.Holders).Entry("a-1").Field("note").Set(clause.V(clause.Int(1)))), "leaves:"},
		{"", held, queue.NumberedFence("a-1", n(1), true, 2), nil, ""},
		{"a transaction with an odd number", held, queue.NumberedFence("a-1", n(1), true, 3), nil, "sent as:"},
		{"", held, queue.Evict(mark, a), nil, ""},
		{"a mark that is not of the entry", held, queue.Evict(wrong, a), nil, "nearest is EVICT\n  leaves:"},
		{"", held, passes.Release(queue.FormPass, time.Time{}), nil, ""},
		{"", nil, queue.Enqueue(waiting, nil), nil, ""},
		{"a row that expires early", nil, queue.Enqueue(waiting, nil), func(w clause.Write) clause.Write {
			w.Item = maps.Clone(w.Item)
			w.Item[q.TTL] = clause.Int(until.Unix())
			return w
		}, "nearest is ENQUEUE\n  leaves:"},
		{"", waiting, row.Renew(later, until), nil, ""},
		{"", waiting, swept.Sweep(), nil, ""},
		{"holders that are replaced", held, clause.Write{Name: "x", Do: []clause.Change{clause.At(attr.Holders).Set(clause.V(clause.Map(nil)))}}, nil, "nearest is EVICT\n  leaves:"},
		{"a row that is deleted as it is", waiting, clause.Write{Name: "x", Kind: clause.Delete, If: []clause.Cond{clause.Key.Exists()}}, nil, "nearest is SWEEP\n  sent as:"},
		{"", held, queue.Resume(entry("c-1"), a.Ticket, a, mark), nil, ""},
		{"", free, counter.Take(queue.Take(block("c-1"), false), n(7)).Write, nil, ""},
		{"", blocked, queue.Advance("a-1", n(1), n(2), 0), nil, ""},
		{"ADVANCE without data", blocked, queue.Advance("a-1", n(1), n(2), 2), nil, ""},
		{"ADVANCE as of any turn", blocked, queue.Advance("a-1", n(1), n(2), 0), without("no later turn"), "nearest is ADVANCE\n  sent as:"},
		{"HEARTBEAT of a turn", blocked, queue.Renewal{Until: later, Turn: n(2)}.Heartbeat("a-1", n(1)), nil, ""},
		{"FENCE of a turn", blocked, queue.OfTurn(queue.NumberedFence("a-1", n(1), true, 2), "a-1", n(2)), nil, ""},
		{"RESUME of a turn", blocked, queue.Resume(entry("c-1"), n(2), blocks, mark), nil, ""},
		{"fast RELEASE of a block", blocked, queue.Ending{ID: "a-1", Ticket: n(1), Turns: 2, Call: 1}.Release(queue.FormFast, time.Time{}), nil, ""},
		{"", blocked, queue.Ending{ID: "a-1", Ticket: n(1), Turns: 2, Call: 1, Next: queue.Next{Entry: block("b-n3t"), Ticket: n(3), New: true}}.Release(queue.FormPass, time.Time{}), nil, ""},
		{"", held, queue.Settle("a-1", n(1), 2), nil, ""},
		{"", held, queue.Downgrade("a-1", n(1), 2), nil, ""},
		{"", held, queue.Remove("a-0", "a-1"), nil, ""},
		{"", free, queue.Reset(n(2), later), nil, ""},
		{"", free, queue.Claim(queue.Entry{ID: "b-2", Mode: queue.Mode{Shared: true, Readers: 7}, Lease: queue.Lease{TTL: time.Minute}}, n(2)), nil, ""},
		{"a row that is swept as it is", waiting, swept.Sweep(), without("beat as read"), "nearest is SWEEP\n  sent as:"},
		{"", waiting, queue.Leave("b-r0-2", "b-r1-2"), nil, ""},
	} {
		name := c.name
		if name == "" {
			name = c.write.Name
		}
		t.Run(name, func(t *testing.T) {
			e := newEngine()
			table := queuelocktest.NewTable(t, queuelocktest.WithEngine(e))
			db := table.Client("a")
			key := q.RecordKey()
			if c.write.Name == "ENQUEUE" || c.before[attr.ID] != nil { // it is of a row
				key = q.Key(q.SortKey(row.Ticket))
			}
			if c.before != nil {
				e.put(t, db, c.before)
			}
			w := c.write
			if c.plant != nil {
				w = c.plant(w)
			}
			if fate := writetest.Send(t, db, "queuelock", key, w, names); fate != clause.Applied {
				t.Fatalf("fate %d", fate)
			}
			said := strings.Join(e.violations, "\n")
			if c.finds == "" && (said != "" || e.judge.Made[w.Name] != 1) || !strings.Contains(said, c.finds) {
				t.Errorf("the Judge says %q, want %q, and counts %v", said, c.finds, e.judge.Made)
			}
		})
	}
}

// put puts an item of which the Judge says nothing.
func (e *engine) put(t *testing.T, db *queuelocktest.Client, item clause.Item) {
	t.Helper()
	e.own = true
	locktest.Must(db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("queuelock"), Item: item}))
	e.own, e.violations, e.judge.Made = false, nil, map[string]int{}
}

// TestOwn makes changes without a client of the library.
func TestOwn(t *testing.T) {
	row := queue.Waiter{Ticket: n(2), ID: "b-r0-2", Owner: "o", CreatedAt: until, Lease: queue.Lease{TTL: time.Minute, Until: until}}
	older := row
	older.CreatedAt, older.Until = until.Add(-time.Minute), until.Add(-time.Minute)
	other := older
	other.Beat = 1
	record := clause.Item{"pk": clause.String("e"), "sk": clause.String(q.RecordSortKey()), attr.TicketNumber: clause.Int(1)}
	for _, c := range []struct {
		name          string
		before, after clause.Item
		want          string // a name of Made
	}{
		{"Expiry", row.Item(q), nil, transition.Expiry},
		{"Suspension", row.Item(q), older.Item(q), transition.Suspension},
		{"MoreThanTimes", row.Item(q), other.Item(q), ""},
		{"NoTTL", record, nil, ""},
		{"Creation", nil, record, ""},
		{"NotOfALock", nil, clause.Item{"pk": clause.String("e"), "sk": clause.String("lock/x")}, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine()
			db := queuelocktest.NewTable(t, queuelocktest.WithEngine(e)).Client("a")
			if c.before != nil {
				e.put(t, db, c.before)
			}
			e.own = true
			var err error
			if c.after != nil {
				_, err = db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("queuelock"), Item: c.after})
			} else {
				key := map[string]types.AttributeValue{"pk": c.before["pk"], "sk": c.before["sk"]}
				_, err = db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("queuelock"), Key: key})
			}
			locktest.OK(t, err)
			if _, found := e.judge.Made[c.want]; found == (c.want == "none") || (c.want == "") != (len(e.violations) > 0) {
				t.Errorf("the Judge says %q, and counts %v", e.violations, e.judge.Made)
			}
		})
	}
}
