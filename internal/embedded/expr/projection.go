package expr

import "github.com/queuelock/queuelock/internal/embedded/value"

// ProjectionExpression is the name of the parameter, as messages give it.
const ProjectionExpression = "ProjectionExpression"

// Projection is a parsed projection expression.
type Projection struct {
	paths []Path
	tree  *branch
}

// ParseProjection reads a list of document paths.
func ParseProjection(src string, scope *Scope) (*Projection, error) {
	p, err := newParser(ProjectionExpression, src, scope)
	if err != nil {
		return nil, err
	}
	paths := []Path{p.path()}
	for p.take(",") {
		paths = append(paths, p.path())
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	tree := &branch{}
	for i, path := range paths {
		if err := tree.add(i, path, ProjectionExpression); err != nil {
			return nil, err
		}
	}
	return &Projection{paths, tree}, nil
}

// Of is the part of the item that the projection names. List elements close
// ranks: of l[0] and l[2] a list of two remains.
func (p *Projection) Of(item value.Item) value.Item { return p.tree.project(item) }

func (b *branch) project(item value.Item) value.Item {
	part := value.Item{}
	for name, child := range b.names {
		if v, ok := item[name]; ok {
			if v, ok = child.pick(v); ok {
				part[name] = v
			}
		}
	}
	return part
}

// pick is what the branch keeps of a value; nothing, if no path leads on.
func (b *branch) pick(v value.Value) (value.Value, bool) {
	switch {
	case b.leaf > 0:
		return v, true
	case b.names != nil && v.Kind == value.Map:
		fields := b.project(v.Fields)
		return value.Value{Kind: value.Map, Fields: fields}, len(fields) > 0
	case b.indexes != nil && v.Kind == value.List:
		var elems []value.Value
		for _, i := range sortedIndexes(b.indexes) {
			if i < len(v.Elems) {
				if e, ok := b.indexes[i].pick(v.Elems[i]); ok {
					elems = append(elems, e)
				}
			}
		}
		return value.Value{Kind: value.List, Elems: elems}, len(elems) > 0
	}
	return value.Value{}, false
}
