package clause_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func numberOf(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

func TestReader(t *testing.T) {
	r := &clause.Reader{Item: clause.Item{"n": clause.Int(-7), "e": numberOf("25E+2"), "s": clause.String("x"), "m": clause.Map(clause.Item{"k": numberOf("1")})}}
	if r.Int("n") != -7 || r.Int("e") != 2500 || r.Number("e") != "25E+2" || r.Text("s") != "x" || len(r.Map("m")) != 1 || r.OptionalText("s") != "x" || r.Err != nil {
		t.Errorf("misread, %v", r.Err)
	}
	if n, ok := r.OptionalInt("missing"); ok || n != 0 || r.OptionalText("missing") != "" || r.Err != nil {
		t.Errorf("what may be absent was missed: %v", r.Err)
	}
	for say, read := range map[string]func(*clause.Reader){
		"attribute x.missing is missing, a number is needed": func(r *clause.Reader) { r.Int("missing") },
		"attribute x.missing is missing, a string is needed": func(r *clause.Reader) { r.Text("missing") },
		"attribute x.missing is missing, a map is needed":    func(r *clause.Reader) { r.Map("missing") },
		"attribute x.s is a string, a number is needed":      func(r *clause.Reader) { r.Int("s") },
		"attribute x.n is a number, a string is needed":      func(r *clause.Reader) { r.Text("n") },
		"attribute x.n is a number, a map is needed":         func(r *clause.Reader) { r.Map("n") },
		"attribute x.m is a map, a string is needed":         func(r *clause.Reader) { r.OptionalText("m") },
		"attribute x.m is a map, a number is needed": func(r *clause.Reader) {
			if n, ok := r.OptionalInt("m"); !ok || n != 0 {
				t.Errorf("a number that cannot be read is %d, there: %t", n, ok)
			}
		},
	} {
		bad := &clause.Reader{What: "row", Path: "x.", Item: r.Item}
		read(bad)
		if bad.Err == nil || !strings.HasPrefix(bad.Err.Error(), "malformed row: "+say+": ") {
			t.Errorf("got %v, want that %s", bad.Err, say)
		}
	}
}

// TestHostileValue checks that a hostile value does not fill the log.
func TestHostileValue(t *testing.T) {
	r := &clause.Reader{What: "row", Item: clause.Item{"n": numberOf(strings.Repeat("1", 100_000))}}
	if r.Int("n"); r.Err == nil || len(r.Err.Error()) > 300 {
		t.Errorf("the error has %d bytes", len(r.Err.Error()))
	}
}

func TestLayoutsAreValidated(t *testing.T) {
	good := table.Layout{Table: "tab", PK: "pk", SK: "sk", TTL: "expiresAt"}
	const arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/orders"
	for _, name := range []string{"tab", "Queue-lock_1.x", strings.Repeat("t", 255), arn, "arn:aws:dynamodb:ddblocal:000000000000:table/tab"} {
		good.Table = name
		locktest.Check(t, good.Validate())
	}
	for name, test := range map[string]struct {
		change func(*table.Layout)
		say    []string
	}{
		"no table":              {func(l *table.Layout) { l.Table = "" }, []string{"table name", "empty"}},
		"a short table name":    {func(l *table.Layout) { l.Table = "ab" }, []string{"table name", `"ab"`, "3 to 255"}},
		"a long table name":     {func(l *table.Layout) { l.Table = strings.Repeat("t", 256) }, []string{"table name", "3 to 255"}},
		"a space in its name":   {func(l *table.Layout) { l.Table = "x y" }, []string{"table name", `"x y"`, "3 to 255"}},
		"a letter of no ASCII":  {func(l *table.Layout) { l.Table = "größe" }, []string{"table name", `"größe"`}},
		"a line behind it":      {func(l *table.Layout) { l.Table = "tab\n" }, []string{"table name", `"tab\n"`}},
		"an index":              {func(l *table.Layout) { l.Table = "tab/index/i" }, []string{"table name", `"tab/index/i"`}},
		"an ARN of no table":    {func(l *table.Layout) { l.Table = "arn:aws:s3:::bucket" }, []string{"table name", "ARN", ":table/"}},
		"an ARN of an index":    {func(l *table.Layout) { l.Table = arn + "/index/i" }, []string{"table name", "ARN", ":table/"}},
		"a long ARN":            {func(l *table.Layout) { l.Table = "arn:" + strings.Repeat("x", 1024) + ":table/tab" }, []string{"table name", "ARN", "1024"}},
		"no partition key":      {func(l *table.Layout) { l.PK = "" }, []string{"partition key", "empty"}},
		"no sort key":           {func(l *table.Layout) { l.SK = "" }, []string{"sort key", "empty"}},
		"no TTL attribute":      {func(l *table.Layout) { l.TTL = "" }, []string{"TTL attribute", "empty"}},
		"both keys one name":    {func(l *table.Layout) { l.SK = "pk" }, []string{"sort key", `"pk"`, "partition key"}},
		"TTL is the sort key":   {func(l *table.Layout) { l.TTL = "sk" }, []string{"TTL attribute", `"sk"`, "sort key"}},
		"a name of the library": {func(l *table.Layout) { l.TTL = "until" }, []string{"TTL attribute", `"until"`, "library"}},
		"another":               {func(l *table.Layout) { l.PK = "holders" }, []string{"partition key", `"holders"`}},
		"too long":              {func(l *table.Layout) { l.SK = strings.Repeat("s", 256) }, []string{"sort key", "256", "255"}},
	} {
		l := good
		test.change(&l)
		err := l.Validate()
		for _, word := range test.say {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: got %v, want it to say %s", name, err, word)
			}
		}
	}
}
