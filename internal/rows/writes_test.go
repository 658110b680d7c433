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
	writetest.Suite{
		Names: clause.Names{Key: "pk", Expires: "expiresAt"},
		Item:  item,
		Write: map[string]func(*rand.Rand) clause.Write{
			"ENQUEUE": func(r *rand.Rand) clause.Write { return rows.WriteEnqueue(item(r), "") },
			"RESUME":  func(r *rand.Rand) clause.Write { return rows.WriteEnqueue(item(r), "a") },
			"HEARTBEAT": func(r *rand.Rand) clause.Write {
				return rows.Row{ID: id(r)}.WriteHeartbeat([]time.Time{{}, until(r)}[r.IntN(2)])
			},
			"CLEAN UP": func(r *rand.Rand) clause.Write { return rows.WriteLeave([]string{"a-0", "b-0"}[:1+r.IntN(2)]) },
			"SWEEP":    func(r *rand.Rand) clause.Write { return rows.Row{}.Read(item(r)).WriteSweep() },
		},
	}.Run(t)
}
