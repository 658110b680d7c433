package search

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/queue"
)

// A codec encodes and owned machines of one type. It visits every field, also those that are not exported, so that two
// states which it encodes alike behave alike: a field that is added later is never forgotten.
type codec struct {
	encode func(*encoder, unsafe.Pointer)
	clone  func(*owned, unsafe.Pointer) // gives a shallow copy its own slices and parts; nil: it has none
}

// encoder writes a machine. Of times only the order counts, and in which lease they are. Of records and rows it writes the
// numbers that the search has given them.
type encoder struct {
	b      []byte
	items  *items
	kinds  map[unsafe.Pointer]int64 // the numbers of the kinds of callers
	ticks  []int32                  // of the times, in the order in which they were met
	sorted []int32
	noWait bool
}

// owned is what a copy has of its own: its slices and parts, each before the one that refers to it.
type owned []struct {
	at       *unsafe.Pointer // where the copy refers to it
	own, old unsafe.Pointer
	size     uintptr
}

// add copies n elements, to which the copy refers.
func (all *owned) add(at *unsafe.Pointer, n int, elem reflect.Type, of codec) {
	own := reflect.MakeSlice(reflect.SliceOf(elem), n, n)
	reflect.Copy(own, reflect.SliceAt(elem, *at, n))
	c := owned{{at, own.UnsafePointer(), *at, uintptr(n) * elem.Size()}}
	for i := 0; i < n && of.clone != nil; i++ {
		of.clone(all, unsafe.Add(c[0].own, uintptr(i)*elem.Size()))
	}
	*at, *all = c[0].own, append(*all, c[0])
}

// share lets a copy refer again to what it was copied from, where both are alike. After a step that is most of it.
func (all owned) share() {
	for _, c := range all {
		if *c.at == c.own && bytes.Equal(unsafe.Slice((*byte)(c.own), c.size), unsafe.Slice((*byte)(c.old), c.size)) {
			*c.at = c.old
		}
	}
}

// Each field that is left out, or encoded by less than its value.
var (
	constant = map[[2]string]bool{{"WaitConfig", "Items"}: true, {"Place", "items"}: true, {"Queue", "Items"}: true}
	// With NoWait a wait gives up after some rounds.
	counted = map[[2]string]bool{{"turn", "rounds"}: true, {"Wait", "worthless"}: true}
)

func (e *encoder) num(n int64) { e.b = binary.AppendVarint(e.b, n) }

func (e *encoder) text(s string) {
	e.num(int64(len(s)))
	e.b = append(e.b, s...)
}

// Times of the search: a clock is a number of steps, and a tick orders what happens between two of them.
var (
	epoch = time.Unix(1_000_000_000, 0)
	unit  = time.Hour
)

func at(clock int8, tick int32) time.Time {
	return epoch.Add(time.Duration(clock)*unit + time.Duration(tick)*time.Millisecond)
}

func clockOf(t time.Time) int8 { return int8(t.Sub(epoch) / unit) }

func (e *encoder) time(t time.Time) {
	if t.IsZero() {
		e.num(-1)
		return
	}
	d := t.Sub(epoch)
	e.num(int64(d / unit))
	e.ticks = append(e.ticks, int32(d%unit/time.Millisecond))
}

func (e *encoder) item(i clause.Item) { e.num(int64(e.items.of(i))) }

// ranks ends an encoding: it writes the order of the times.
func (e *encoder) ranks() {
	e.sorted = append(e.sorted[:0], e.ticks...)
	slices.Sort(e.sorted)
	e.sorted = slices.Compact(e.sorted)
	for _, t := range e.ticks {
		i, _ := slices.BinarySearch(e.sorted, t)
		e.num(int64(i))
	}
}

// leaves are the types that are not taken apart.
var leaves = map[reflect.Type]func(*encoder, unsafe.Pointer){
	reflect.TypeFor[time.Time](): func(e *encoder, p unsafe.Pointer) { e.time(*(*time.Time)(p)) },
	// A record is immutable, and made from an item.
	recordType: func(e *encoder, p unsafe.Pointer) { e.item(*(*clause.Item)(unsafe.Add(p, recordItemField))) },
	itemType:   func(e *encoder, p unsafe.Pointer) { e.item(*(*clause.Item)(p)) },
	reflect.TypeFor[error](): func(e *encoder, p unsafe.Pointer) {
		text := ""
		if err := *(*error)(p); err != nil {
			text = err.Error()
		}
		e.text(text)
	},
	// What a caller wants is constant.
	reflect.TypeFor[*member.Kind](): func(e *encoder, p unsafe.Pointer) {
		p = *(*unsafe.Pointer)(p)
		n, ok := e.kinds[p]
		if !ok {
			n = int64(len(e.kinds))
			e.kinds[p] = n
		}
		e.num(n)
	},
}

var (
	recordType = reflect.TypeFor[queue.Record]()
	itemType   = reflect.TypeFor[clause.Item]()
)

// parts are the types of a member to which it has pointers, and that change with it.
var parts = map[string]bool{"block": true, "row": true, "held": true, "using": true, "Transaction": true, "Wait": true}

// compile returns the codec of a type.
func compile(t reflect.Type) codec {
	c := codec{encode: leaves[t]}
	if c.encode != nil {
		return c
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		c.encode = func(e *encoder, p unsafe.Pointer) { e.b = append(e.b, *(*byte)(p)) }
	case reflect.Int32:
		c.encode = func(e *encoder, p unsafe.Pointer) { e.num(int64(*(*int32)(p))) }
	case reflect.Int, reflect.Int64:
		c.encode = func(e *encoder, p unsafe.Pointer) { e.num(*(*int64)(p)) }
	case reflect.Uint64:
		c.encode = func(e *encoder, p unsafe.Pointer) { e.b = binary.AppendUvarint(e.b, *(*uint64)(p)) }
	case reflect.String:
		c.encode = func(e *encoder, p unsafe.Pointer) { e.text(*(*string)(p)) }
	case reflect.Struct:
		return compileStruct(t)
	case reflect.Slice:
		return compileSlice(t)
	case reflect.Pointer:
		of := compile(t.Elem())
		c.encode = func(e *encoder, p unsafe.Pointer) {
			if p = *(*unsafe.Pointer)(p); p == nil {
				e.b = append(e.b, 0)
				return
			}
			e.b = append(e.b, 1)
			of.encode(e, p)
		}
		if parts[t.Elem().Name()] {
			c.clone = func(all *owned, p unsafe.Pointer) {
				if at := (*unsafe.Pointer)(p); *at != nil {
					all.add(at, 1, t.Elem(), of)
				}
			}
		}
	default:
		panic(fmt.Sprintf("search: a machine has a field of type %s: it needs numbers, strings, structs, slices or pointers", t))
	}
	return c
}

func compileStruct(t reflect.Type) codec {
	type field struct {
		off uintptr
		codec
	}
	var all, parts []field
	for i := range t.NumField() {
		f := t.Field(i)
		name := [2]string{t.Name(), f.Name}
		if constant[name] {
			continue
		}
		c := compile(f.Type)
		switch {
		case name == [2]string{"WaitConfig", "NoWait"}:
			c.encode = func(e *encoder, p unsafe.Pointer) { e.noWait = *(*bool)(p) }
		case counted[name]:
			count := c.encode
			c.encode = func(e *encoder, p unsafe.Pointer) {
				if e.noWait {
					count(e, p)
				}
			}
		}
		if all = append(all, field{f.Offset, c}); c.clone != nil {
			parts = append(parts, field{f.Offset, c})
		}
	}
	c := codec{
		encode: func(e *encoder, p unsafe.Pointer) {
			for i := range all {
				all[i].encode(e, unsafe.Add(p, all[i].off))
			}
		},
	}
	if len(parts) > 0 {
		c.clone = func(own *owned, p unsafe.Pointer) {
			for i := range parts {
				parts[i].clone(own, unsafe.Add(p, parts[i].off))
			}
		}
	}
	return c
}

// slice is how a slice is kept.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

func compileSlice(t reflect.Type) codec {
	of, size := compile(t.Elem()), t.Elem().Size()
	return codec{
		encode: func(e *encoder, p unsafe.Pointer) {
			all := (*slice)(p)
			e.num(int64(all.len))
			for i := range all.len {
				of.encode(e, unsafe.Add(all.data, uintptr(i)*size))
			}
		},
		clone: func(own *owned, p unsafe.Pointer) {
			all := (*slice)(p)
			if all.cap = all.len; all.len == 0 {
				all.data = nil // it may be that of another machine
				return
			}
			own.add(&all.data, all.len, t.Elem(), of)
		},
	}
}

// recordItemField is where in a Record the item is of which it was made.
var recordItemField = func() uintptr {
	f, ok := recordType.FieldByName("item")
	if !ok || f.Type != itemType {
		panic("search: a record has no item")
	}
	off := uintptr(0)
	t := recordType
	for _, i := range f.Index {
		off += t.Field(i).Offset
		t = t.Field(i).Type
	}
	return off
}()

// machines are the states of machines of type T that were met. Each has a number.
type machines[T any] struct {
	codec
	encoder
	owned
	all   []*T
	ticks []int32 // the highest tick of each
	nums  map[string]int32
}

func machinesOf[T any](it *items) *machines[T] {
	e := encoder{items: it, kinds: map[unsafe.Pointer]int64{}}
	return &machines[T]{codec: compile(reflect.TypeFor[T]()), encoder: e, nums: map[string]int32{}}
}

// copy returns a machine that may be stepped.
func (m *machines[T]) copy(n int32) *T {
	c := *m.all[n]
	if m.owned = m.owned[:0]; m.clone != nil {
		m.clone(&m.owned, unsafe.Pointer(&c))
	}
	return &c
}

// add returns the number of a state: of the last copy, after its step.
func (m *machines[T]) add(v *T) int32 {
	e := &m.encoder
	e.b, e.ticks, e.noWait = e.b[:0], e.ticks[:0], false
	m.encode(e, unsafe.Pointer(v))
	e.ranks()
	n, ok := m.nums[string(e.b)]
	if !ok {
		n = int32(len(m.all))
		m.owned.share()
		m.nums[string(e.b)], m.all = n, append(m.all, v)
		m.ticks = append(m.ticks, slices.Max(append(e.sorted, 0)))
	}
	return n
}
