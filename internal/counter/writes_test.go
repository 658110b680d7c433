package counter_test

import (
	"math/rand/v2"
	"testing"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/writetest"
	"github.com/queuelock/queuelock/ticket"
)

// TestWrites draws counters and writes. See writetest.Suite.
func TestWrites(t *testing.T) {
	counters := []counter.Counter{
		{Attribute: "ticketNumber"},
		{Attribute: "ticketNumber", Host: true, Create: true, Beside: []string{"ticketNumber", "holders"}},
		{Attribute: "ticketNumber", Host: true, Beside: []string{"ticketNumber", "holders"}},
	}
	number := func(r *rand.Rand) ticket.Number {
		return []ticket.Number{{}, ticket.FromUint64(7), ticket.Max.Previous(), ticket.Max}[r.IntN(4)]
	}
	draw := func(r *rand.Rand) counter.Counter { return counters[r.IntN(len(counters))] }
	writetest.Suite{
		Names: clause.Names{Key: "pk", Prefix: "x_"},
		Item: func(r *rand.Rand) clause.Item {
			item := clause.Item{}
			if r.IntN(2) == 0 {
				item["x_ticketNumber"] = []clause.Value{number(r).Attribute(), table.Int(-1), table.String("x")}[min(r.IntN(9), 2)]
			}
			if r.IntN(2) == 0 {
				item["x_holders"] = table.Map(clause.Item{})
			}
			return item
		},
		Write: map[string]func(*rand.Rand) clause.Write{
			"NUMBER": func(r *rand.Rand) clause.Write {
				return draw(r).Increment(with("extra", table.Int(1)), r.IntN(2) == 0, ticket.FromUint64(3))
			},
			"SEED": func(r *rand.Rand) clause.Write {
				return draw(r).Seed(counter.Rider{}, ticket.FromUint64(3), ticket.FromUint64(4))
			},
			"RAISE": func(r *rand.Rand) clause.Write { return draw(r).WriteRaise(number(r)) },
		},
	}.Run(t)
}
