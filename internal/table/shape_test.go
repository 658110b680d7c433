package table

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"

	"github.com/queuelock/queuelock/clause"
)

// TestExpress checks that a write has the expressions that would be built for it alone, whatever was sent before.
func TestExpress(t *testing.T) {
	store := NewStore(nil, Layout{}, 0)
	value := func() clause.Value {
		s := strconv.FormatUint(rand.Uint64(), 36)
		return []clause.Value{clause.String(s), clause.Int(rand.Int64N(4)), clause.Map(clause.Item{s: clause.String(s)})}[rand.IntN(3)]
	}
	accounts, fee, open := clause.At("accounts"), clause.At("fee"), clause.At("open")
	for range 100 {
		n := clause.Names{Key: "pk", Prefix: []string{"", "lock_"}[rand.IntN(2)]}
		path := accounts.Entry(strconv.FormatUint(rand.Uint64(), 36) + ".-")
		first, second := value(), value()
		w := clause.Write{
			If: []clause.Cond{path.Less(clause.V(first)), clause.Key.Exists(), fee.BeginsWith(clause.V(clause.String("x")))},
			Do: []clause.Change{path.Set(clause.V(first)), fee.Set(clause.V(clause.Int(7))), clause.Expires.Remove()},
		}
		if rand.IntN(2) == 0 {
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
	}
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
