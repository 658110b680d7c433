package clause_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/writetest"
	"github.com/queuelock/queuelock/queuelocktest"
)

var names = clause.Names{Key: "pk", Expires: "expiresAt", Prefix: "x_"}

func text(s string) clause.Value { return &types.AttributeValueMemberS{Value: s} }

func num(n int) clause.Value { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

// TestApply draws items and writes, sends each write to a table by its expressions, and applies it to the item. Fate and
// result are the same.
func TestApply(t *testing.T) {
	table := queuelocktest.NewTable(t)
	db := table.Client("a")
	rnd := rand.New(rand.NewPCG(1, 2))
	fates := map[clause.Fate]int{}
	for i := range locktest.Scaled(3000, 1000) {
		key := clause.Item{"pk": text(fmt.Sprint("q", i)), "sk": text("s")}
		var item clause.Item
		if rnd.IntN(8) > 0 {
			item = randomItem(rnd)
			item["pk"], item["sk"] = key["pk"], key["sk"]
			locktest.Must(db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}))
		}
		w := clause.Write{If: []clause.Cond{randomCond(rnd, 2), randomCond(rnd, 1)}[:rnd.IntN(3)], Do: randomChanges(rnd)}
		want, wantFate := w.Apply(names, item)
		if want != nil && wantFate == clause.Applied {
			want["pk"], want["sk"] = key["pk"], key["sk"]
		}
		fate := writetest.Send(t, db, table.Name(), key, w, names)
		got := get(t, db, table.Name(), key)
		fates[fate]++
		if diff := writetest.Diff(want, got); fate != wantFate || diff != "" {
			t.Fatalf("%d: %v on %v\nthe table: %d, Apply: %d\n%s", i, w, item, fate, wantFate, diff)
		}
	}
	for _, f := range []clause.Fate{clause.Applied, clause.Refused, clause.Invalid} {
		if least := locktest.Scaled(200, 50); fates[f] < least {
			t.Errorf("fate %d was drawn %d times, at least %d are needed: %v", f, fates[f], least, fates)
		}
	}
}

// TestTemplate: the expressions of a shape, filled with the ids and values of a write, are those of the write.
func TestTemplate(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		w := clause.Write{If: []clause.Cond{randomCond(rnd, 2)}, Do: randomChanges(rnd)}
		_, ids, values := w.Shape(nil, names)
		filled := w.Template(names, func(i int) string { return ids[i] }, func(i int) clause.Value { return values[i] })
		if got, want := built(t, filled), built(t, w.Builder(names)); !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %v\nwant %v", got, want)
		}
	}
}

// TestShape: two writes have one shape exactly if their expressions differ in nothing but ids and values.
func TestShape(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	shapes := map[string]string{}
	for range 5000 {
		w := clause.Write{If: []clause.Cond{randomCond(rnd, 1)}, Do: randomChanges(rnd)}
		shape, _, _ := w.Shape(nil, names)
		e := built(t, w.Template(names, func(i int) string { return fmt.Sprint("id", i) }, func(i int) clause.Value { return num(i) }))
		text := fmt.Sprint(e[0], e[1], e[2])
		if was, known := shapes[string(shape)]; known && was != text {
			t.Fatalf("one shape: %s\nand %s", was, text)
		}
		shapes[string(shape)] = text
	}
}

func TestWithout(t *testing.T) {
	a, b, c := clause.At("a").Exists().As("a"), clause.At("b").Exists().As("b"), clause.At("c").Exists()
	w := clause.Write{If: []clause.Cond{a, clause.Any(clause.All(b), c)}}
	for _, tt := range []struct {
		name  string
		found bool
		left  []string
	}{{"a", true, []string{"b"}}, {"b", true, []string{"a"}}, {"d", false, []string{"a", "b"}}} {
		got, found := w.Without(tt.name)
		if left := got.Conditions(); found != tt.found || !slices.Equal(left, tt.left) {
			t.Errorf("without %s: found %v, left %q", tt.name, found, left)
		}
	}
	if left := w.Conditions(); !slices.Equal(left, []string{"a", "b"}) {
		t.Errorf("Without has changed the write: %q", left)
	}
}

func built(t *testing.T, b expression.Builder) [4]any {
	t.Helper()
	e := locktest.Must(b.Build())
	return [4]any{aws.ToString(e.Update()), aws.ToString(e.Condition()), e.Names(), len(e.Values())}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func randomValue(r *rand.Rand) clause.Value {
	switch r.IntN(9) {
	case 0:
		return text(pick(r, "a", "ab", "b"))
	case 1:
		return &types.AttributeValueMemberBOOL{Value: r.IntN(2) == 0}
	case 2:
		return &types.AttributeValueMemberN{Value: pick(r, "1.5", "100", "99999999999999999999999999999999999998")}
	case 3:
		return &types.AttributeValueMemberB{Value: []byte(pick(r, "a", "b"))}
	case 4:
		return randomMap(r)
	}
	return num(r.IntN(4))
}

func randomMap(r *rand.Rand) clause.Value {
	m := clause.Item{}
	for _, id := range []string{"p", "q"} {
		switch r.IntN(3) {
		case 0:
			m[id] = &types.AttributeValueMemberM{Value: clause.Item{"beat": num(r.IntN(3)), "ttl": text("x")}}
		case 1:
			m[id] = num(1)
		}
	}
	return &types.AttributeValueMemberM{Value: m}
}

func randomSet(r *rand.Rand) *types.AttributeValueMemberNS {
	return &types.AttributeValueMemberNS{Value: pick(r, []string{"1"}, []string{"2", "3"}, []string{"1", "3"})}
}

func randomItem(r *rand.Rand) clause.Item {
	item := clause.Item{}
	for _, a := range []string{"a", "b", "c"} {
		if r.IntN(3) > 0 {
			item["x_"+a] = randomValue(r)
		}
	}
	if r.IntN(3) > 0 {
		item["x_m"] = randomMap(r)
	}
	if r.IntN(2) == 0 {
		item["x_s"] = randomSet(r)
	}
	return item
}

func randomPath(r *rand.Rand) clause.Path {
	switch r.IntN(6) {
	case 0:
		return clause.At("m").Entry(pick(r, "p", "q"))
	case 1:
		return clause.At("m").Entry(pick(r, "p", "q")).Field(pick(r, "beat", "ttl"))
	case 2:
		return clause.At("m")
	}
	return clause.At(pick(r, "a", "b", "c"))
}

// randomOperand draws what p is compared with. DynamoDB refuses a comparison of a path with itself.
func randomOperand(r *rand.Rand, p clause.Path) clause.Operand {
	if other := randomPath(r); r.IntN(3) == 0 && other != p {
		return other.Was()
	}
	return clause.V(pick(r, num(r.IntN(4)), text("a")))
}

func randomCond(r *rand.Rand, depth int) clause.Cond {
	if depth > 0 && r.IntN(2) == 0 {
		of := []clause.Cond{randomCond(r, depth-1), randomCond(r, depth-1)}
		return pick(r, clause.All, clause.Any)(of...)
	}
	p, n := randomPath(r), clause.V(num(r.IntN(3)))
	switch r.IntN(12) {
	case 0:
		return p.Exists()
	case 1:
		return p.Absent()
	case 2:
		return p.Equal(randomOperand(r, p))
	case 3:
		return p.Less(randomOperand(r, p))
	case 4:
		return p.AtMost(randomOperand(r, p))
	case 5:
		return p.AtLeast(randomOperand(r, p))
	case 6:
		return p.Between(clause.V(num(1)), clause.V(num(3)))
	case 7:
		return p.OneOf(clause.V(text("a")), clause.V(num(1)))
	case 8:
		return p.Type(pick(r, "M", "N"))
	case 9:
		return p.BeginsWith(clause.V(text("a")))
	case 10:
		return p.SizeEqual(n)
	}
	return pick(r, p.SizeLess(n), clause.Key.Exists(), clause.Key.Absent())
}

// randomChanges draws changes whose paths do not overlap.
func randomChanges(r *rand.Rand) (changes []clause.Change) {
	for _, p := range []clause.Path{clause.At("a"), clause.At("b"), clause.At("m").Entry("p"), clause.At("m").Entry("q").Field("beat")} {
		switch r.IntN(6) {
		case 0:
			changes = append(changes, p.Set(randomOperand(r, p)))
		case 1:
			changes = append(changes, p.Set(clause.At("c").Or(clause.V(num(7)))))
		case 2:
			changes = append(changes, p.Remove())
		case 3:
			changes = append(changes, p.Set(clause.At("a").Or(clause.V(num(1))).Plus(num(1))))
		}
	}
	switch r.IntN(3) {
	case 0:
		changes = append(changes, clause.At("s").Add(randomSet(r)))
	case 1:
		changes = append(changes, clause.At("s").Delete(randomSet(r)))
	}
	return append(changes, clause.Expires.Set(clause.V(num(1))))
}

func get(t *testing.T, db *queuelocktest.Client, name string, key clause.Item) clause.Item {
	t.Helper()
	out := locktest.Must(db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: key, ConsistentRead: aws.Bool(true)}))
	return out.Item
}
