package rows_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/testbed/writetest"
)

// TestWrites draws rows and writes. See writetest.Suite.
func TestWrites(t *testing.T) {
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
			"ENQUEUE": func(r *rand.Rand) clause.Write { return rows.WriteEnqueue(own(r), "") },
			"RESUME":  func(r *rand.Rand) clause.Write { return rows.WriteEnqueue(own(r), "a") },
			"HEARTBEAT": func(r *rand.Rand) clause.Write {
				return rows.Row{ID: id(r)}.WriteHeartbeat([]time.Time{{}, until(r)}[r.IntN(2)])
			},
			"CLEAN UP": func(r *rand.Rand) clause.Write { return rows.WriteLeave([]string{"a-0", "b-0"}[:1+r.IntN(2)]) },
			"SWEEP":    func(r *rand.Rand) clause.Write { return rows.Row{}.Read(item(r)).WriteSweep() },
		},
	}.Run(t)
}

// TestRefusals checks what it means that a row refuses a write.
func TestRefusals(t *testing.T) {
	row := func(id string) clause.Item {
		return clause.Item{"pk": clause.String("e"), "id": clause.String(id), "beat": clause.Int(1), "until": clause.Int(2000)}
	}
	early, late := time.UnixMilli(1999), time.UnixMilli(2001)
	for name, c := range map[string]struct {
		write clause.Write
		item  clause.Item // that refuses it; nil: there is none
		want  clause.Refusal
	}{
		"ENQUEUE/of its own":               {rows.WriteEnqueue(row("a-0"), ""), row("a-0"), clause.Made},
		"ENQUEUE/of an earlier attempt":    {rows.WriteEnqueue(row("a-1"), "", "a-0"), row("a-0"), clause.Made},
		"ENQUEUE/of another":               {rows.WriteEnqueue(row("a-0"), ""), row("b-0"), clause.Lost},
		"ENQUEUE/without an id":            {rows.WriteEnqueue(row("a-0"), "", ""), row(""), clause.Lost},
		"ENQUEUE/no row":                   {rows.WriteEnqueue(row("a-0"), ""), nil, clause.Contradicted},
		"RESUME/of its own":                {rows.WriteEnqueue(row("b-0"), "a"), row("b-0"), clause.Made},
		"RESUME/of another process":        {rows.WriteEnqueue(row("b-0"), "a"), row("c-0"), clause.Lost},
		"HEARTBEAT/a later one came first": {rows.Row{ID: "a-0"}.WriteHeartbeat(early), row("a-0"), clause.Made},
		"HEARTBEAT/of another":             {rows.Row{ID: "a-0"}.WriteHeartbeat(late), row("b-0"), clause.Lost},
		"HEARTBEAT/swept":                  {rows.Row{ID: "a-0"}.WriteHeartbeat(late), nil, clause.Lost},
		"HEARTBEAT/it would be applied":    {rows.Row{ID: "a-0"}.WriteHeartbeat(late), row("a-0"), clause.Contradicted},
		"CLEAN UP/swept":                   {rows.WriteLeave([]string{"a-0"}), nil, clause.Open},
		"SWEEP/renewed":                    {rows.Row{}.Read(clause.Item{"id": clause.String("a-0"), "beat": clause.Int(0)}).WriteSweep(), row("a-0"), clause.Open},
	} {
		if got := c.write.Refused(clause.Names{Key: "pk"}, c.item); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
