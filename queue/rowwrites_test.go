package queue_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/testbed/writetest"
	"github.com/queuelock/queuelock/queue"
)

// TestRowWrites draws rows and writes. See writetest.Suite.
func TestRowWrites(t *testing.T) {
	id := func(r *rand.Rand) string { return []string{"a-0", "a-1", "b-0"}[r.IntN(3)] }
	until := func(r *rand.Rand) time.Time { return time.UnixMilli(1000 + int64(r.IntN(3))) }
	item := func(r *rand.Rand) clause.Item {
		item := clause.Item{}
		for name, value := range map[string]clause.Value{
			"id": clause.String(id(r)), "beat": clause.Int(int64(r.IntN(2))), "until": clause.Int(until(r).UnixMilli()), "expiresAt": clause.Int(5),
		} {
			switch r.IntN(12) {
			case 0, 1:
			case 2:
				item[name] = clause.String("x")
			default:
				item[name] = value
			}
		}
		return item
	}
	own := func(r *rand.Rand) clause.Item {
		item := item(r)
		item["id"] = clause.String(id(r))
		return item
	}
	writetest.Suite{
		Names: clause.Names{Key: "pk", Expires: "expiresAt"},
		Item:  item,
		Write: map[string]func(*rand.Rand) clause.Write{
			"ENQUEUE": func(r *rand.Rand) clause.Write { return queue.Enqueue(own(r), nil) },
			"RESUME":  func(r *rand.Rand) clause.Write { return queue.Enqueue(own(r), []string{"a"}) },
			"HEARTBEAT": func(r *rand.Rand) clause.Write {
				return queue.Waiter{ID: id(r)}.Renew([]time.Time{{}, until(r)}[r.IntN(2)], time.UnixMilli(9))
			},
			"CLEAN UP": func(r *rand.Rand) clause.Write { return queue.Leave([]string{"a-0", "b-0"}[:1+r.IntN(2)]...) },
			"SWEEP":    func(r *rand.Rand) clause.Write { return queue.Waiter{}.Read(item(r)).Sweep() },
		},
	}.Run(t)
}

// TestRowRefusals checks what it means that a row refuses a write.
func TestRowRefusals(t *testing.T) {
	row := func(id string) clause.Item {
		return clause.Item{"pk": clause.String("e"), "id": clause.String(id), "beat": clause.Int(1), "until": clause.Int(2000)}
	}
	early, late := time.UnixMilli(1999), time.UnixMilli(2001)
	for name, c := range map[string]struct {
		write clause.Write
		item  clause.Item // that refuses it; nil: there is none
		want  clause.Refusal
	}{
		"ENQUEUE/of its own":               {queue.Enqueue(row("a-0"), nil), row("a-0"), clause.Made},
		"ENQUEUE/of an earlier attempt":    {queue.Enqueue(row("a-1"), nil, "a-0"), row("a-0"), clause.Made},
		"ENQUEUE/of another":               {queue.Enqueue(row("a-0"), nil), row("b-0"), clause.Lost},
		"ENQUEUE/without an id":            {queue.Enqueue(row("a-0"), nil, ""), row(""), clause.Lost},
		"ENQUEUE/no row":                   {queue.Enqueue(row("a-0"), nil), nil, clause.Contradicted},
		"RESUME/of its own":                {queue.Enqueue(row("b-0"), []string{"a"}), row("b-0"), clause.Made},
		"RESUME/of another process":        {queue.Enqueue(row("b-0"), []string{"a"}), row("c-0"), clause.Lost},
		"HEARTBEAT/a later one came first": {queue.Waiter{ID: "a-0"}.Renew(early, time.UnixMilli(9)), row("a-0"), clause.Made},
		"HEARTBEAT/of another":             {queue.Waiter{ID: "a-0"}.Renew(late, time.UnixMilli(9)), row("b-0"), clause.Lost},
		"HEARTBEAT/swept":                  {queue.Waiter{ID: "a-0"}.Renew(late, time.UnixMilli(9)), nil, clause.Lost},
		"HEARTBEAT/it would be applied":    {queue.Waiter{ID: "a-0"}.Renew(late, time.UnixMilli(9)), row("a-0"), clause.Contradicted},
		"CLEAN UP/swept":                   {queue.Leave("a-0"), nil, clause.Open},
		"SWEEP/renewed":                    {queue.Waiter{}.Read(clause.Item{"id": clause.String("a-0"), "beat": clause.Int(0)}).Sweep(), row("a-0"), clause.Open},
	} {
		if got := c.write.Refused(clause.Names{Key: "pk"}, c.item); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
