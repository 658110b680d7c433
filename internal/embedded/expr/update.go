package expr

import (
	"slices"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// Refusals that depend on the item, and therefore come from Apply.
const (
	errNoAttribute = Error("The provided expression refers to an attribute that does not exist in the item")
	errWrongType   = Error("An operand in the update expression has an incorrect data type")
	errInvalidPath = Error("The document path provided in the update expression is invalid for update")
)

// Update is a parsed update expression. The zero Update changes nothing.
type Update struct {
	actions []action
	tree    branch
}

// action is one clause of an update; its verb is SET, REMOVE, ADD or DELETE.
type action struct {
	verb    string
	path    Path
	operand Operand // nil for REMOVE
}

// effect is what an action does at its path. The zero effect leaves it alone.
type effect struct {
	set, remove bool
	value       value.Value
}

// Paths are the document paths the update touches, in the order written.
func (u *Update) Paths() []Path {
	paths := make([]Path, len(u.actions))
	for i, a := range u.actions {
		paths[i] = a.path
	}
	return paths
}

// OnlyRemoves reports whether the update can only take attributes away. Such an
// update of an item that does not exist does not create it.
func (u *Update) OnlyRemoves() bool {
	return len(u.actions) > 0 && !slices.ContainsFunc(u.actions, func(a action) bool {
		return a.verb == "SET" || a.verb == "ADD"
	})
}

// Overhead returns the bytes that a lone UpdateItem adds to the item's size, less
// its key, before the service compares it with the limit. nubo-db/dynoxide
// measured them on the service (CHANGELOG.md, "UpdateItem measures the limit").
func (u *Update) Overhead() int {
	if len(u.actions) == 0 {
		return 0
	}
	total := 3
	for _, a := range u.actions {
		if a.verb == "REMOVE" {
			total += 2
			continue
		}
		total += 19
		if slices.ContainsFunc(a.path, func(s Step) bool { return s.Name == "" }) {
			total++
		}
		if _, ok := a.operand.(Sum); ok {
			total += 50
		}
	}
	return total
}

// Touched is the part of the item at the update's paths, as the return values
// UPDATED_OLD and UPDATED_NEW give it.
func (u *Update) Touched(item value.Item) value.Item { return u.tree.project(item) }

// Apply is the item after the update; old stays as it is. Every right-hand side
// is computed from old before anything is written.
func (u *Update) Apply(old value.Item) (value.Item, error) {
	effects := make([]effect, len(u.actions))
	for i, a := range u.actions {
		e, err := a.effect(old)
		if err != nil {
			return nil, err
		}
		effects[i] = e
	}
	return u.tree.applyMap(old, effects)
}

func (a action) effect(old value.Item) (effect, error) {
	if a.verb == "REMOVE" {
		return effect{remove: true}, nil
	}
	operand, err := compute(a.operand, old)
	if err != nil || a.verb == "SET" {
		return effect{set: true, value: operand}, err
	}
	present, ok := a.path.Lookup(old)
	switch {
	case !ok && a.verb == "ADD":
		return effect{set: true, value: operand}, nil
	case !ok:
		return effect{}, nil
	case present.Kind != operand.Kind:
		return effect{}, errWrongType
	case a.verb == "DELETE":
		rest, some := present.Minus(operand)
		return effect{set: some, remove: !some, value: rest}, nil
	case present.Kind == value.Num:
		sum, err := present.Number.Add(operand.Number)
		return effect{set: true, value: value.OfNumber(sum)}, err
	}
	return effect{set: true, value: present.Union(operand)}, nil
}

// IfNotExists is if_not_exists(path, otherwise).
type IfNotExists struct {
	Path      Path
	Otherwise Operand
}

// ListAppend is list_append(first, second).
type ListAppend struct{ First, Second Operand }

// Sum is left + right, or left - right when Minus is set.
type Sum struct {
	Left, Right Operand
	Minus       bool
}

// Eval is for use as an Operand; compute also says why there is no value.
func (f IfNotExists) Eval(item value.Item) (value.Value, bool) { return evalComputed(f, item) }

// Eval is for use as an Operand; compute also says why there is no value.
func (f ListAppend) Eval(item value.Item) (value.Value, bool) { return evalComputed(f, item) }

// Eval is for use as an Operand; compute also says why there is no value.
func (f Sum) Eval(item value.Item) (value.Value, bool) { return evalComputed(f, item) }

func evalComputed(o Operand, item value.Item) (value.Value, bool) {
	v, err := compute(o, item)
	return v, err == nil
}

// compute is the value of a right-hand side for the item as it was.
func compute(o Operand, old value.Item) (value.Value, error) {
	switch o := o.(type) {
	case IfNotExists:
		// The alternative must have a value even if it is not needed: so says
		// DynamoDB Local, and the documentation says nothing.
		otherwise, err := compute(o.Otherwise, old)
		if err != nil {
			return value.Value{}, err
		}
		if v, ok := o.Path.Lookup(old); ok {
			return v, nil
		}
		return otherwise, nil
	case ListAppend:
		first, second, err := computeBoth(o.First, o.Second, value.List, old)
		if err != nil {
			return value.Value{}, err
		}
		return value.Value{Kind: value.List, Elems: slices.Concat(first.Elems, second.Elems)}, nil
	case Sum:
		left, right, err := computeBoth(o.Left, o.Right, value.Num, old)
		if err != nil {
			return value.Value{}, err
		}
		sum := value.Number.Add
		if o.Minus {
			sum = value.Number.Sub
		}
		n, err := sum(left.Number, right.Number)
		return value.OfNumber(n), err
	}
	v, ok := o.Eval(old)
	if !ok {
		return value.Value{}, errNoAttribute
	}
	return v, nil
}

func computeBoth(a, b Operand, kind value.Kind, old value.Item) (first, second value.Value, err error) {
	if first, err = compute(a, old); err != nil {
		return
	}
	if second, err = compute(b, old); err != nil {
		return
	}
	if first.Kind != kind || second.Kind != kind {
		err = errWrongType
	}
	return
}

// applyMap is the map after the effects below this branch.
func (b *branch) applyMap(old value.Item, effects []effect) (value.Item, error) {
	fields := make(value.Item, len(old)+len(b.names))
	for name, v := range old {
		fields[name] = v
	}
	for name, child := range b.names {
		if child.leaf > 0 {
			switch e := effects[child.leaf-1]; {
			case e.set:
				fields[name] = e.value
			case e.remove:
				delete(fields, name)
			}
			continue
		}
		v, err := child.apply(old[name], effects)
		if err != nil {
			return nil, err
		}
		fields[name] = v
	}
	return fields, nil
}

// apply is the map or list after the effects below this branch. The zero Value
// stands for an attribute that is not there, which nothing can be put into.
func (b *branch) apply(old value.Value, effects []effect) (value.Value, error) {
	switch {
	case b.names != nil && old.Kind == value.Map:
		fields, err := b.applyMap(old.Fields, effects)
		return value.Value{Kind: value.Map, Fields: fields}, err
	case b.indexes != nil && old.Kind == value.List:
		elems, err := b.applyList(old.Elems, effects)
		return value.Value{Kind: value.List, Elems: elems}, err
	}
	return value.Value{}, errInvalidPath
}

// applyList reads all indexes as positions in the old list: a SET past its end
// appends, in the order of the indexes, and removed elements disappear last.
func (b *branch) applyList(old []value.Value, effects []effect) ([]value.Value, error) {
	elems := slices.Clone(old)
	removed := map[int]bool{}
	for _, i := range sortedIndexes(b.indexes) {
		child := b.indexes[i]
		var e effect
		switch {
		case child.leaf > 0:
			e = effects[child.leaf-1]
		case i >= len(old):
			return nil, errInvalidPath
		default:
			v, err := child.apply(old[i], effects)
			if err != nil {
				return nil, err
			}
			e = effect{set: true, value: v}
		}
		switch {
		case e.set && i < len(old):
			elems[i] = e.value
		case e.set:
			elems = append(elems, e.value)
		case e.remove:
			removed[i] = true
		}
	}
	kept := make([]value.Value, 0, len(elems))
	for i, v := range elems {
		if !removed[i] || i >= len(old) {
			kept = append(kept, v)
		}
	}
	return kept, nil
}

func sortedIndexes(m map[int]*branch) []int {
	indexes := make([]int, 0, len(m))
	for i := range m {
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	return indexes
}
