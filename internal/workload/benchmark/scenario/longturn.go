package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/workload/benchmark/stats"
)

// longTurn is a lock that is held for long, and then wanted by many for a short turn each.
var longTurn = Scenario{
	Name: "long-turn", Title: "A long turn, and short ones after it",
	About: "One client holds the lock for long. Meanwhile others ask for it, 20 ms apart; each holds it for 20 ms once. All are independent clients, in one process or in one each. The lock is free from the call of a release until the next acquire returns.",
	Ratio: "free",
	Columns: []Column{
		{"free", "time in which the lock was free, ms", 0}, {"gap", "longest of these times, ms", 0},
		{"last", "from the end of the long turn to the last grant, s", 2},
		{"overtook", "grants that overtook, of 100", 1}, {"overlaps", "overlaps", 0},
		{"write units", "write units a turn", 1}, {"read units", "read units a turn", 1},
	},
	Variants: func(s Size) []Variant {
		after := func(clients int, long time.Duration, where placement) Variant {
			in := "clients"
			if where == inProcesses {
				in = "processes"
			}
			v := Variant{
				Name: fmt.Sprintf("%d %s after %s", clients, in, strings.NewReplacer("m0s", " min", "s", " s").Replace(long.String())),
				Measure: func(ctx context.Context, t *Trial) (Values, error) {
					all, err := t.contenders(ctx, clients+1, where)
					if err != nil {
						return nil, err
					}
					return t.longTurn(ctx, all, long)
				},
			}
			if where != inProcesses {
				v.Most = units(float64(clients), 12, 60+long.Seconds()*20, clients+2)
			}
			return v
		}
		if s.Quick {
			return []Variant{after(20, 2*time.Second, inOneProcess)}
		}
		return []Variant{
			after(20, 5*time.Second, inOneProcess), after(20, time.Minute, inOneProcess), after(12, 5*time.Second, inProcesses),
		}
	},
}

// longTurn lets the first client hold the lock for long, and the others once each.
func (t *Trial) longTurn(ctx context.Context, clients []Client, long time.Duration) (Values, error) {
	const apart, short = 20 * time.Millisecond, 20 * time.Millisecond
	queue, since := &queue{}, t.count()
	window := stats.Window{From: time.Now()}
	var turns sync.WaitGroup
	for i, client := range clients {
		lasts := short
		if i == 0 {
			lasts = long
		}
		turns.Go(func() { queue.turn(ctx, client, func() error { return pause(ctx, lasts) }) })
		if err := pause(ctx, apart); err != nil {
			return nil, err
		}
	}
	turns.Wait()
	window.To = time.Now()
	all, err := queue.result()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	v := Values{}
	t.spent(v, since, len(all))
	t.describe(v, all, window, t.Slack)
	free := stats.Milliseconds(stats.HandOvers(all, window))
	v["free"], v["gap"], v["last"] = stats.Mean(free)*float64(len(free)), stats.Quantile(free, 1), 0
	for _, turn := range all {
		v["last"] = max(v["last"], turn.Granted.Sub(all[0].Released).Seconds())
	}
	return v, nil
}
