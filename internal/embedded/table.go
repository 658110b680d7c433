package embedded

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// keyAttribute is one attribute of a table's primary key; a table without a
// sort key has one with an empty name.
type keyAttribute struct {
	name string
	kind value.Kind
}

// table holds items in the order in which a Scan returns them: partitions by
// the hash of their key, rows of a partition by sort key.
type table struct {
	name        string
	partition   keyAttribute
	sort        keyAttribute
	parts       []*part
	byKey       map[string]*part
	created     time.Time
	billing     string
	throughput  throughput
	protected   bool
	ttl         string // the TTL attribute, empty while disabled
	count, size int
}

// part is all items with one partition key.
type part struct {
	key  string // see keyText
	hash uint64
	rows []row
}

// row is one item; sort is the zero Value in a table without a sort key.
type row struct {
	sort value.Value
	item value.Item
}

// key is a primary key.
type key struct{ partition, sort value.Value }

// keyText is the key attribute as a map key.
func keyText(v value.Value) string {
	if v.Kind == value.Num {
		return "N" + v.Number.String()
	}
	return string(v.Kind) + v.Text
}

func (k key) text() string {
	partition := keyText(k.partition)
	return strconv.Itoa(len(partition)) + ":" + partition + keyText(k.sort)
}

func hashOf(partition string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(partition))
	// FNV's high bits hardly change with the last bytes of a short input, and
	// the segments of a parallel Scan are cut by the high bits.
	x := h.Sum64()
	x ^= x >> 32
	x *= 0x9E3779B97F4A7C15
	return x ^ x>>29
}

// partAt returns the index of the partition in t.parts, or where it would be inserted.
func (t *table) partAt(hash uint64, partition string) (int, bool) {
	return slices.BinarySearchFunc(t.parts, partition, func(p *part, want string) int {
		switch {
		case p.hash < hash:
			return -1
		case p.hash > hash:
			return 1
		}
		return strings.Compare(p.key, want)
	})
}

// at returns the index of the sort key in the partition, or where it would be inserted.
func (p *part) at(sort value.Value) (int, bool) {
	return slices.BinarySearchFunc(p.rows, sort, func(r row, want value.Value) int {
		order, _ := r.sort.Compare(want)
		return order
	})
}

// get is the item under the key, nil if there is none.
func (t *table) get(k key) value.Item {
	p := t.byKey[keyText(k.partition)]
	if p == nil {
		return nil
	}
	i, ok := p.at(k.sort)
	if !ok {
		return nil
	}
	return p.rows[i].item
}

// put stores the item under its key, which must be k; nil deletes it.
func (t *table) put(k key, item value.Item) {
	if item == nil {
		t.remove(k)
		return
	}
	text := keyText(k.partition)
	p := t.byKey[text]
	if p == nil {
		p = &part{key: text, hash: hashOf(text)}
		i, _ := t.partAt(p.hash, text)
		t.parts = slices.Insert(t.parts, i, p)
		t.byKey[text] = p
	}
	i, ok := p.at(k.sort)
	if ok {
		t.size += item.Size() - p.rows[i].item.Size()
		p.rows[i].item = item
		return
	}
	p.rows = slices.Insert(p.rows, i, row{k.sort, item})
	t.count++
	t.size += item.Size()
}

func (t *table) remove(k key) {
	text := keyText(k.partition)
	p := t.byKey[text]
	if p == nil {
		return
	}
	i, ok := p.at(k.sort)
	if !ok {
		return
	}
	t.count--
	t.size -= p.rows[i].item.Size()
	p.rows = slices.Delete(p.rows, i, i+1)
	if len(p.rows) == 0 {
		at, _ := t.partAt(p.hash, text)
		t.parts = slices.Delete(t.parts, at, at+1)
		delete(t.byKey, text)
	}
}

// keyOf is the primary key within an item of this table.
func (t *table) keyOf(item value.Item) key {
	k := key{partition: item[t.partition.name]}
	if t.sort.name != "" {
		k.sort = item[t.sort.name]
	}
	return k
}

// keyItem is the key alone, as an item.
func (t *table) keyItem(k key) value.Item {
	item := value.Item{t.partition.name: k.partition}
	if t.sort.name != "" {
		item[t.sort.name] = k.sort
	}
	return item
}

// isKey reports whether the attribute is part of the primary key.
func (t *table) isKey(name string) bool {
	return name == t.partition.name || name == t.sort.name && name != ""
}

// table is the named table, ready for a request: with ExpireItems, expired items
// are gone.
func (e *Engine) table(name string) (*table, error) {
	name, err := tableName(name)
	if err != nil {
		return nil, err
	}
	t := e.tables[name]
	if t == nil {
		return nil, errNotFound()
	}
	if e.cfg.ExpireItems {
		e.expire(t)
	}
	return t, nil
}
