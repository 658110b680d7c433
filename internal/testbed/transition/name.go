package transition

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/planted"
	"github.com/queuelock/queuelock/queue"
)

// Names finds the write that a request is, or is most like, also of one that the table has refused, or never had. Unlike a
// Judge it asks only for the shape: which ids and values there are does not matter.
type Names struct {
	writes map[string]clause.Write // by their shapes
}

// names are those of the attributes of all tables that are judged.
var names = clause.Names{Key: "pk", Expires: "expiresAt"}

// NewNames returns the Names of writes, each in all its shapes.
func NewNames(writes []clause.Write) Names {
	n := Names{map[string]clause.Write{}}
	for _, w := range writes {
		for _, sent := range []clause.Write{planted.In(w), w} {
			one, _, _ := wireOf(sent, names) // without an expression it is empty
			if shape := one.shape(w.Item != nil); n.writes[shape].Name == "" {
				n.writes[shape] = w
			}
		}
	}
	return n
}

// Asked is a write that a request asks for.
type Asked struct {
	PK, SK string
	Write  clause.Write
	IDs    []string // in it, in the order of its expressions
}

// Of returns the writes of a request to the items of locks.
func (n Names) Of(body []byte) (all []Asked) {
	var sent wire
	if json.Unmarshal(body, &sent) != nil {
		return nil
	}
	for _, one := range sent.parts() {
		if one.Key == nil && one.Item == nil {
			continue
		}
		a := Asked{PK: one.Key["pk"].Text, SK: one.Key["sk"].Text}
		if one.Item != nil {
			a.PK, a.SK = one.Item["pk"].Text, one.Item["sk"].Text
		}
		c := change{q: queue.Items{PK: "pk", SK: "sk", TTL: "expiresAt", Entity: a.PK}, sk: a.SK}
		if c.isLocks() {
			a.Write = n.of(one.shape(one.Item != nil))
			a.IDs = one.ids(c.q)
			all = append(all, a)
		}
	}
	return all
}

func (n Names) of(shape string) (nearest clause.Write) {
	if w, ok := n.writes[shape]; ok {
		return w
	}
	least := -1
	kind, _, _ := strings.Cut(shape, " ")
	for _, other := range slices.Sorted(maps.Keys(n.writes)) {
		if d := apart(shape, other); strings.HasPrefix(other, kind) && (least < 0 || d < least) {
			nearest, least = n.writes[other], d
		}
	}
	return nearest
}

// shape is what a request has but its ids and values.
func (w *wire) shape(put bool) string {
	blank := func(expression string) string {
		return placeholder.ReplaceAllStringFunc(expression, func(p string) string {
			switch name := w.ExpressionAttributeNames[p]; {
			case p[0] == ':':
				return "?"
			case name == names.Key || name == names.Expires || slices.Contains(attr.Reserved(), name):
				return name
			}
			return "ID"
		})
	}
	kind := ""
	if put {
		kind = "PUT "
	}
	return kind + strings.ReplaceAll(blank(w.UpdateExpression), "\n", " ") + "IF " + blank(w.ConditionExpression)
}

var idForm = regexp.MustCompile(`^[0-9a-z]+-(\d+|n\d+t?|r\d+-\d+)$`)

// ids are those of entries and rows.
func (w *wire) ids(q queue.Items) (all []string) {
	add := func(id string) {
		if idForm.MatchString(id) && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	r := w.request()
	for _, id := range r.ids(q) {
		add(id)
	}
	for _, m := range r.maps {
		for _, id := range slices.Sorted(maps.Keys(m)) {
			add(id)
		}
	}
	add(w.Item[attr.ID].Text)
	for _, id := range r.strings {
		add(id)
	}
	return all
}

// Owners are the owners of the entries and rows that are in a request or in an answer, by the first part of their ids.
func Owners(text []byte) map[string]string {
	all := map[string]string{}
	var tree any
	if json.Unmarshal(text, &tree) == nil {
		owners(tree, "", all)
	}
	return all
}

// owners walks through JSON. id is the name of a map that may be an entry.
func owners(v any, id string, all map[string]string) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			owners(one, id, all)
		}
	case map[string]any:
		in := func(name string) string {
			s, _ := v[name].(map[string]any)
			text, _ := s["S"].(string)
			return text
		}
		if owner := in(attr.Owner); owner != "" {
			if own := in(attr.ID); own != "" {
				id = own
			}
			if idForm.MatchString(id) {
				prefix, _, _ := strings.Cut(id, "-")
				all[prefix] = owner
			}
		}
		for name, one := range v {
			if name == "M" {
				name = id
			}
			owners(one, name, all)
		}
	}
}
