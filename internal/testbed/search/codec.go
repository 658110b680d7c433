package search

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/queue"
)

// A codec encodes and copies machines of one type. It visits every field, also those that are not exported, so that two
// states which it encodes alike behave alike: a field that is added later is never forgotten.
type codec struct {
	encode func(*encoder, unsafe.Pointer)
	clone  func(unsafe.Pointer) // gives a shallow copy its own slices
}

// encoder writes a machine. Of times only the order counts, and in which lease they are. Of records and rows it writes the
// numbers that the search has given them.
type encoder struct {
	b      []byte
	items  *items
	kinds  map[unsafe.Pointer]int64 // the numbers of the kinds of callers
	ticks  []int32                  // of the times, in the order in which they were met
	latest int32                    // the highest tick
	noWait bool
}

// Each field that is left out, or encoded by less than its value.
var (
	constant = map[[2]string]bool{{"WaitConfig", "Items"}: true, {"Place", "items"}: true, {"Config", "Items"}: true}
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
	tick := int32(d % unit / time.Millisecond)
	e.ticks, e.latest = append(e.ticks, tick), max(e.latest, tick)
}

func (e *encoder) item(i clause.Item) { e.num(int64(e.items.of(i))) }

// ranks ends an encoding: it writes the order of the times.
func (e *encoder) ranks() {
	sorted := slices.Clone(e.ticks)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	for _, t := range e.ticks {
		i, _ := slices.BinarySearch(sorted, t)
		e.num(int64(i))
	}
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	recordType = reflect.TypeFor[queue.Record]()
	itemType   = reflect.TypeFor[clause.Item]()
	kindType   = reflect.TypeFor[*member.Kind]()
)

// parts are the types of a member to which it has pointers, and that change with it.
var parts = map[string]bool{"block": true, "row": true, "held": true, "Transaction": true}

// compile returns the codec of a type.
func compile(t reflect.Type) codec {
	c := codec{encode: func(*encoder, unsafe.Pointer) {}, clone: func(unsafe.Pointer) {}}
	switch t {
	case timeType:
		c.encode = func(e *encoder, p unsafe.Pointer) { e.time(*(*time.Time)(p)) }
		return c
	case recordType: // immutable, and made from an item
		c.encode = func(e *encoder, p unsafe.Pointer) { e.item(*(*clause.Item)(unsafe.Add(p, recordItemField))) }
		return c
	case itemType:
		c.encode = func(e *encoder, p unsafe.Pointer) { e.item(*(*clause.Item)(p)) }
		return c
	case kindType: // constant
		c.encode = func(e *encoder, p unsafe.Pointer) {
			p = *(*unsafe.Pointer)(p)
			n, ok := e.kinds[p]
			if !ok {
				n = int64(len(e.kinds))
				e.kinds[p] = n
			}
			e.num(n)
		}
		return c
	}
	switch t.Kind() {
	case reflect.Bool:
		c.encode = func(e *encoder, p unsafe.Pointer) { e.b = append(e.b, *(*byte)(p)) }
	case reflect.Int32:
		c.encode = func(e *encoder, p unsafe.Pointer) { e.num(int64(*(*int32)(p))) }
	case reflect.Int, reflect.Int64:
		c.encode = func(e *encoder, p unsafe.Pointer) { e.num(*(*int64)(p)) }
	case reflect.Int8, reflect.Uint8:
		c.encode = func(e *encoder, p unsafe.Pointer) { e.b = append(e.b, *(*byte)(p)) }
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
			c.clone = func(p unsafe.Pointer) {
				v := reflect.NewAt(t, p).Elem()
				if v.IsNil() {
					return
				}
				own := reflect.New(t.Elem())
				own.Elem().Set(v.Elem())
				of.clone(own.UnsafePointer())
				v.Set(own)
			}
		}
	case reflect.Interface:
		if t != reflect.TypeFor[error]() {
			panic(fmt.Sprintf("search: a machine has a field of type %s", t))
		}
		c.encode = func(e *encoder, p unsafe.Pointer) {
			if err := *(*error)(p); err != nil {
				e.text(err.Error())
				return
			}
			e.text("")
		}
	default:
		panic(fmt.Sprintf("search: a machine has a field of type %s", t))
	}
	return c
}

func compileStruct(t reflect.Type) codec {
	type field struct {
		off uintptr
		codec
	}
	var all []field
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
		all = append(all, field{f.Offset, c})
	}
	return codec{
		encode: func(e *encoder, p unsafe.Pointer) {
			for i := range all {
				all[i].encode(e, unsafe.Add(p, all[i].off))
			}
		},
		clone: func(p unsafe.Pointer) {
			for i := range all {
				all[i].clone(unsafe.Add(p, all[i].off))
			}
		},
	}
}

func compileSlice(t reflect.Type) codec {
	of, size := compile(t.Elem()), t.Elem().Size()
	return codec{
		encode: func(e *encoder, p unsafe.Pointer) {
			v := reflect.NewAt(t, p).Elem()
			n := v.Len()
			e.num(int64(n))
			for i := range n {
				of.encode(e, unsafe.Add(v.UnsafePointer(), uintptr(i)*size))
			}
		},
		clone: func(p unsafe.Pointer) {
			v := reflect.NewAt(t, p).Elem()
			if v.Len() == 0 {
				v.SetZero() // its array may be that of another machine
				return
			}
			own := reflect.MakeSlice(t, v.Len(), v.Len())
			reflect.Copy(own, v)
			for i := range v.Len() {
				of.clone(unsafe.Add(own.UnsafePointer(), uintptr(i)*size))
			}
			v.Set(own)
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
	items *items
	all   []T
	ticks []int32 // the highest tick of each
	nums  map[string]int32
	kinds map[unsafe.Pointer]int64
	b     []byte
}

func machinesOf[T any](it *items) *machines[T] {
	return &machines[T]{codec: compile(reflect.TypeFor[T]()), items: it, nums: map[string]int32{}, kinds: map[unsafe.Pointer]int64{}}
}

// copy returns a machine that may be stepped.
func (m *machines[T]) copy(n int32) *T {
	c := m.all[n]
	m.clone(unsafe.Pointer(&c))
	return &c
}

// add returns the number of a state.
func (m *machines[T]) add(v *T) int32 {
	e := encoder{b: m.b[:0], items: m.items, kinds: m.kinds}
	m.encode(&e, unsafe.Pointer(v))
	e.ranks()
	m.b = e.b
	n, ok := m.nums[string(e.b)]
	if !ok {
		n = int32(len(m.all))
		m.nums[string(e.b)] = n
		m.all, m.ticks = append(m.all, *v), append(m.ticks, e.latest)
	}
	return n
}
