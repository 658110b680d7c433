package table

import (
	"reflect"
	"testing"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/testbed/property"
)

// TestExpress checks that a write has the expressions that would be built for it alone, whatever was sent before.
func TestExpress(t *testing.T) {
	store := NewStore(nil, Layout{}, 0)
	value := property.OneOf(
		property.Map(property.String(), func(s string) clause.Value { return clause.String(s) }),
		property.Map(property.Int64Range(0, 3), func(n int64) clause.Value { return clause.Int(n) }),
		property.Map(property.String(), func(s string) clause.Value { return clause.Map(clause.Item{s: clause.String(s)}) }),
	)
	accounts, fee, open := clause.At("accounts"), clause.At("fee"), clause.At("open")
	property.Check(t, func(t *property.T) {
		n := clause.Names{Key: "pk", Prefix: property.SampledFrom([]string{"", "lock_"}).Draw(t, "prefix")}
		path := accounts.Entry(property.StringMatching(`[a-z0-9.-]{12}`).Draw(t, "id"))
		first, second := value.Draw(t, "first"), value.Draw(t, "second")
		w := clause.Write{
			If: []clause.Cond{path.Less(clause.V(first)), clause.Key.Exists(), fee.BeginsWith(clause.V(clause.String("x")))},
			Do: []clause.Change{path.Set(clause.V(first)), fee.Set(clause.V(clause.Int(7))), clause.Expires.Remove()},
		}
		if property.Bool().Draw(t, "more") {
			w.If, w.Do = append(w.If, path.Equal(clause.V(second)), open.Type("S")), append(w.Do, open.Remove())
		}
		got, want := store.Express(w, n), Build(w.Builder(n))
		want.write, want.attributes = w, n
		if got.err != nil || want.err != nil {
			t.Fatal(got.err, want.err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}

// TestExpressBounds checks that a Store remembers a bounded number of shapes, and that an empty id is an error and not another path.
func TestExpressBounds(t *testing.T) {
	store := NewStore(nil, Layout{}, 0)
	for i := range maxTemplates + 10 {
		w := clause.Write{If: []clause.Cond{clause.At("x").Exists()}, Do: []clause.Change{clause.At("y" + string(rune('a'+i))).Remove()}}
		if e := store.Express(w, clause.Names{}); e.err != nil {
			t.Fatal(e.err)
		}
	}
	if n := len(store.templates.by); n != maxTemplates {
		t.Errorf("%d shapes are remembered", n)
	}
	w := clause.Write{If: []clause.Cond{clause.At("x").Exists()}, Do: []clause.Change{clause.At("holders").Entry("").Remove()}}
	if e := store.Express(w, clause.Names{}); e.err == nil {
		t.Errorf("an empty id: %v", *e.update)
	}
}
