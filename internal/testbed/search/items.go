package search

import (
	"maps"
	"slices"
	"unsafe"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/queue"
)

// theQueue has all items of a search.
var theQueue = queue.Items{PK: "pk", SK: "sk", TTL: "expires", Entity: "e", Reason: "r"}

// items are the items, lists of rows and writes that were met. Each has a number, and is read once.
type items struct {
	all   []clause.Item
	recs  []queue.Record
	rows  []queue.Waiter
	nums  map[string]int32
	known map[unsafe.Pointer]int32

	lists    [][]int32
	listNums map[string]int32

	writes    []write
	writeNums map[string]int32
	applied   map[[2]int32]outcome
	b         []byte
	plant     Plant
}

// write is a write that was sent.
type write struct {
	clause.Write
	planted clause.Write // as it is sent
	row     uint8        // the ticket of the row that it is of; zero: it is of the record
	say     string
}

// outcome is what an item makes of a write.
type outcome struct {
	item    int32
	reply   machine.Reply
	invalid bool
}

const none = 0 // the number of no item, of no rows, and of no write

func newItems(p Plant) *items {
	it := &items{
		plant: p,
		nums:  map[string]int32{"": none}, known: map[unsafe.Pointer]int32{nil: none}, listNums: map[string]int32{"": none},
		writeNums: map[string]int32{}, applied: map[[2]int32]outcome{},
	}
	it.all, it.recs, it.rows = []clause.Item{nil}, []queue.Record{{}}, []queue.Waiter{{}}
	it.lists, it.writes = [][]int32{nil}, []write{{}}
	return it
}

func pointer(item clause.Item) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&item)) }

// of returns the number of an item that add has returned.
func (it *items) of(item clause.Item) int32 {
	n, ok := it.known[pointer(item)]
	if !ok {
		panic("search: an item that the table never had")
	}
	return n
}

// add returns the number of an item.
func (it *items) add(item clause.Item, row bool) int32 {
	if item == nil {
		return none
	}
	if _, ok := item[attr.Turn]; ok { // of which nothing depends
		item = maps.Clone(item)
		delete(item, attr.Turn)
	}
	it.b = av.Append(it.b[:0], av.Object(item))
	n, ok := it.nums[string(it.b)]
	if ok {
		return n
	}
	n = int32(len(it.all))
	it.nums[string(it.b)], it.known[pointer(item)] = n, n
	it.all = append(it.all, item)
	rec, decoded := queue.Record{}, queue.Waiter{}
	if row {
		decoded = queue.DecodeRow(theQueue, item)
	} else {
		var err error
		if rec, err = queue.DecodeRecord(theQueue, item); err != nil {
			rec.Problem = err
		}
	}
	it.recs, it.rows = append(it.recs, rec), append(it.rows, decoded)
	return n
}

// list returns the number of a list of rows.
func (it *items) list(rows []int32) int32 {
	it.b = it.b[:0]
	for _, r := range rows {
		it.b = append(it.b, byte(r), byte(r>>8), byte(r>>16))
	}
	n, ok := it.listNums[string(it.b)]
	if !ok {
		n = int32(len(it.lists))
		it.listNums[string(it.b)] = n
		it.lists = append(it.lists, slices.Clone(rows))
	}
	return n
}

var recordNames = theQueue.Names()

// send returns the number of a write.
func (it *items) send(w clause.Write, row uint8, say string) int32 {
	b, ids, values := w.Shape(append(it.b[:0], w.Name...), recordNames)
	for _, id := range ids {
		b = append(append(b, '#'), id...)
	}
	for _, v := range values {
		b = av.Append(append(b, '|'), v)
	}
	b = append(b, '!')
	if w.Item != nil {
		b = av.Append(b, av.Object(w.Item))
	}
	b = append(append(b, row), say...)
	it.b = b
	n, ok := it.writeNums[string(b)]
	if ok {
		return n
	}
	n = int32(len(it.writes))
	it.writeNums[string(b)] = n
	planted := w
	if it.plant != nil {
		planted = it.plant(w)
	}
	it.writes = append(it.writes, write{Write: w, planted: planted, row: row, say: say})
	return n
}

// refusals are what it means that a write was refused, where that is more.
var refusals = map[clause.Refusal]machine.Reply{clause.Made: machine.ReplyMade, clause.Lost: machine.ReplyRefusedForGood, clause.Contradicted: machine.ReplyFailed}

// apply lets an item judge a write.
func (it *items) apply(wn, in int32) outcome {
	key := [2]int32{wn, in}
	if o, ok := it.applied[key]; ok {
		return o
	}
	w := &it.writes[wn]
	o := outcome{item: in}
	switch after, fate := w.planted.Apply(recordNames, it.all[in]); fate {
	case clause.Applied:
		o.reply = machine.ReplyApplied
		if w.Kind == clause.Update && in == none {
			after["pk"], after["sk"] = theQueue.RecordKey()["pk"], theQueue.RecordKey()["sk"]
		}
		o.item = it.add(after, w.row > 0)
	case clause.Invalid:
		o.reply, o.invalid = machine.ReplyFailed, true
	default:
		o.reply = machine.ReplyRefused
		if meaning, ok := refusals[w.Refused(recordNames, it.all[in])]; ok {
			o.reply = meaning
		}
	}
	it.applied[key] = o
	return o
}
