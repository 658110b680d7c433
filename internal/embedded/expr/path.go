package expr

import (
	"strconv"
	"strings"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// Step is one step of a document path: into a map by name, or into a list by
// index when Name is empty. An attribute name is never empty.
type Step struct {
	Name  string
	Index int
}

// Path is a document path such as a.b[0]; its first step is an attribute name.
type Path []Step

// String is the path as error messages print it: [a, b, [0]].
func (p Path) String() string {
	parts := make([]string, len(p))
	for i, s := range p {
		parts[i] = s.Name
		if s.Name == "" {
			parts[i] = "[" + strconv.Itoa(s.Index) + "]"
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Lookup is the value at the path, if the item has one.
func (p Path) Lookup(item value.Item) (value.Value, bool) {
	v, ok := item[p[0].Name]
	for _, s := range p[1:] {
		if !ok {
			break
		}
		if s.Name != "" {
			v, ok = v.Fields[s.Name]
			continue
		}
		if ok = v.Kind == value.List && s.Index < len(v.Elems); ok {
			v = v.Elems[s.Index]
		}
	}
	if !ok {
		return value.Value{}, false
	}
	return v, true
}

// branch is a node of a tree of document paths. Updates and projections are
// such trees, which makes "these two paths overlap" a question of shape and
// lets both walk an item once. A leaf is the end of a path.
type branch struct {
	leaf    int // 1 + the number of the path that ends here; 0: an inner node
	path    Path
	names   map[string]*branch
	indexes map[int]*branch
}

// add hangs path number n into the tree. Two paths overlap when one is the
// beginning of the other, and conflict when they take the same attribute for a
// map and for a list.
func (b *branch) add(n int, path Path, kind string) error {
	at := b
	for i, s := range path {
		if at.leaf > 0 {
			return clash(kind, "overlap", at.path, path)
		}
		var next *branch
		if s.Name != "" {
			if other := at.first(); other != nil && at.indexes != nil {
				return clash(kind, "conflict", other.path, path)
			}
			if at.names == nil {
				at.names = map[string]*branch{}
			}
			if next = at.names[s.Name]; next == nil {
				next = &branch{path: path[:i+1]}
				at.names[s.Name] = next
			}
		} else {
			if other := at.first(); other != nil && at.names != nil {
				return clash(kind, "conflict", other.path, path)
			}
			if at.indexes == nil {
				at.indexes = map[int]*branch{}
			}
			if next = at.indexes[s.Index]; next == nil {
				next = &branch{path: path[:i+1]}
				at.indexes[s.Index] = next
			}
		}
		at = next
	}
	if at.leaf > 0 {
		return clash(kind, "overlap", at.path, path)
	}
	if other := at.first(); other != nil {
		return clash(kind, "overlap", other.path, path)
	}
	at.leaf = n + 1
	return nil
}

// first is the leaf below b of the path that came first, nil if b has none.
func (b *branch) first() *branch {
	var found *branch
	consider := func(c *branch) {
		if c.leaf == 0 {
			c = c.first()
		}
		if c != nil && (found == nil || c.leaf < found.leaf) {
			found = c
		}
	}
	for _, c := range b.names {
		consider(c)
	}
	for _, c := range b.indexes {
		consider(c)
	}
	return found
}

func clash(kind, verb string, one, two Path) error {
	return Error("Invalid " + kind + ": Two document paths " + verb + " with each other; " +
		"must remove or rewrite one of these paths; path one: " + one.String() + ", path two: " + two.String())
}
