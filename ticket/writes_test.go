package ticket_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/testbed/writetest"
	"github.com/queuelock/queuelock/ticket"
)

func text(s string) clause.Value { return &types.AttributeValueMemberS{Value: s} }

// mark returns a rider that sets an attribute.
func mark() ticket.Rider {
	return ticket.Rider{Do: func(clause.Operand) []clause.Change {
		return []clause.Change{clause.At("extra").Set(clause.V(text("x")))}
	}}
}

var base = ticket.FromUint64(3)

// seed returns the write that follows if there is no counter.
func seed(m ticket.Master, r ticket.Rider) clause.Write {
	m.Create = true // else a missing item is an error
	next, err := m.TakeThenSeed(r, base).Refused(nil)
	if err != nil {
		panic(err)
	}
	return next.Write
}

// TestWrites draws counters and writes. See writetest.Suite.
func TestWrites(t *testing.T) {
	masters := []ticket.Master{
		{Attribute: "ticketNumber"},
		{Attribute: "ticketNumber", Host: true, Create: true, Beside: []string{"ticketNumber", "holders"}},
		{Attribute: "ticketNumber", Host: true, Beside: []string{"ticketNumber", "holders"}},
	}
	number := func(r *rand.Rand) ticket.Number {
		return []ticket.Number{{}, ticket.FromUint64(7), ticket.Max.Previous(), ticket.Max}[r.IntN(4)]
	}
	draw := func(r *rand.Rand) ticket.Master { return masters[r.IntN(len(masters))] }
	writetest.Suite{
		Names: clause.Names{Key: "pk", Prefix: "x_"},
		Item: func(r *rand.Rand) clause.Item {
			item := clause.Item{}
			if r.IntN(2) == 0 {
				item["x_ticketNumber"] = []clause.Value{number(r).Attribute(), &types.AttributeValueMemberN{Value: "-1"}, text("x")}[min(r.IntN(9), 2)]
			}
			if r.IntN(2) == 0 {
				item["x_holders"] = &types.AttributeValueMemberM{Value: clause.Item{}}
			}
			return item
		},
		Write: map[string]func(*rand.Rand) clause.Write{
			"NUMBER": func(r *rand.Rand) clause.Write {
				if r.IntN(2) == 0 {
					return draw(r).TakeThenSeed(mark(), base).Write
				}
				return draw(r).Take(mark(), base).Write
			},
			"SEED":  func(r *rand.Rand) clause.Write { return seed(draw(r), ticket.Rider{}) },
			"RAISE": func(r *rand.Rand) clause.Write { return draw(r).Raise(number(r)) },
		},
	}.Run(t)
}

// TestRefused has a case for each meaning of a refusal.
func TestRefused(t *testing.T) {
	names := clause.Names{Key: "pk", Prefix: "x_"}
	own := ticket.Master{Attribute: "n", Names: names}
	host := ticket.Master{Attribute: "n", Names: names, Host: true, Beside: []string{"n", "holders"}}
	creates := host
	creates.Create = true
	item := func(attributes ...string) clause.Item {
		i := clause.Item{"pk": text("orders")}
		for _, a := range attributes {
			name, value, _ := strings.Cut(a, "=")
			i[name] = &types.AttributeValueMemberN{Value: value}
		}
		return i
	}
	stranger := item()
	stranger["x_n"] = text("seven")
	for name, test := range map[string]struct {
		master ticket.Master
		seeded bool // the seed was refused, and not the take
		item   clause.Item
		want   error
		says   string // of an error that is none of this package's; "": a seed follows
	}{
		"no item":                          {master: own},
		"a host without a counter":         {master: host, item: item("theirs=1")},
		"no host, and it may be created":   {master: creates},
		"no host":                          {master: host, want: ticket.ErrNoItem},
		"the host is gone before the seed": {master: host, seeded: true, want: ticket.ErrNoItem},
		"another's seed":                   {master: own, seeded: true, item: item("x_n=1"), want: ticket.ErrSeeded},
		"it is gone before the seed":       {master: own, seeded: true, want: ticket.ErrNoItem},
		"a condition beside":               {master: own, item: item("x_n=7"), want: ticket.ErrRefused},
		"a condition beside, on a host":    {master: host, item: item("x_n=1E+3"), want: ticket.ErrRefused},
		"its end":                          {master: own, item: item("x_n=" + ticket.Max.String()), want: ticket.ErrExhausted},
		"its end, before a seed":           {master: own, seeded: true, item: item("x_n=" + ticket.Max.String()), want: ticket.ErrExhausted},
		"an item of another program":       {master: own, item: item("n=1"), says: "is missing, a number is needed"},
		"holders, but no counter":          {master: host, item: item("x_holders=1"), says: "is missing, a number is needed"},
		"no number":                        {master: own, item: stranger, says: "is a string, a number is needed"},
		"a fraction":                       {master: own, item: item("x_n=1.5"), says: "is 1.5, a whole number"},
	} {
		t.Run(name, func(t *testing.T) {
			take := test.master.Take(mark(), base)
			if test.seeded {
				take, _ = test.master.TakeThenSeed(mark(), base).Refused(item("theirs=1"))
				if !test.master.Host {
					take, _ = test.master.TakeThenSeed(mark(), base).Refused(nil)
				}
			}
			next, err := take.Refused(test.item)
			switch {
			case test.want != nil:
				if !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
			case test.says != "":
				if err == nil || !strings.HasPrefix(err.Error(), test.says) {
					t.Errorf("got %v, want that it %s", err, test.says)
				}
			case err != nil:
				t.Error(err)
			default:
				after, fate := next.Apply(names, test.item)
				n, numberErr := test.master.Number(after)
				if fate != clause.Applied || numberErr != nil || n != ticket.FromUint64(4) {
					t.Errorf("the seed leaves %v, %v: %s, %v, want 4", after, fate, n, numberErr)
				}
			}
		})
	}
}

// TestBase checks that numbers of a new counter are above those of one that began earlier, for all rates below ten thousand a
// second, and begin at 1 before 2026.
func TestBase(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for at, want := range map[time.Time]uint64{
		epoch.Add(-time.Hour): 0, epoch: 0, epoch.Add(time.Millisecond): 10, epoch.Add(time.Hour): 36_000_000,
	} {
		if got := ticket.Base(at); got != ticket.FromUint64(want) {
			t.Errorf("at %v: %s, want %d", at, got, want)
		}
	}
	if last := ticket.Base(epoch.AddDate(28_000, 0, 0)); !last.Less(ticket.FromUint64(1 << 53)) {
		t.Errorf("after 28,000 years: %s", last)
	}
}
