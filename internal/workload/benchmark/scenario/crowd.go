package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Crowd is many goroutines of one client that want one key all the time. Times are in seconds.
type Crowd struct {
	Goroutines int     `json:"goroutines"`
	Hold       float64 `json:"hold"`
	Before     float64 `json:"before"`  // the measurement begins after it
	Seconds    float64 `json:"seconds"` // and lasts as long
}

// CrowdKey is the key that a crowd wants.
const CrowdKey = "busy"

// leaveLimit bounds how long the goroutines of a crowd may take to leave. Some locks cannot be left.
const leaveLimit = 3 * time.Second

// Do lets the goroutines take turns, and counts the turns that end in the measurement, and their processor time.
func (c Crowd) Do(ctx context.Context, client Locker) (Done, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var turns atomic.Int64
	failed := make(chan error, c.Goroutines)
	var loops sync.WaitGroup
	for range c.Goroutines {
		loops.Go(func() {
			for ctx.Err() == nil {
				if err := c.turn(ctx, client); err == nil {
					turns.Add(1)
				} else if ctx.Err() == nil {
					failed <- err
					return
				}
			}
		})
	}
	_ = pause(ctx, seconds(c.Before))
	first, begun, used := turns.Load(), time.Now(), processorSeconds()
	_ = pause(ctx, seconds(c.Seconds))
	done := Done{
		Cycles: int(turns.Load() - first), Seconds: time.Since(begun).Seconds(), CPUSeconds: processorSeconds() - used,
	}
	stop()
	left := make(chan struct{})
	go func() { loops.Wait(); close(left) }()
	limit := time.NewTimer(leaveLimit)
	defer limit.Stop()
	select {
	case <-left:
	case <-limit.C:
	}
	select {
	case err := <-failed:
		return done, err
	default:
		return done, nil
	}
}

// turn acquires the lock, holds it and releases it.
func (c Crowd) turn(ctx context.Context, client Locker) error {
	release, err := client.Acquire(ctx, CrowdKey)
	if err != nil {
		return err
	}
	if c.Hold > 0 {
		_ = pause(ctx, seconds(c.Hold))
	}
	return release(context.WithoutCancel(ctx))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// crowd is one key that all goroutines of one or many processes want.
var crowd = Scenario{
	Name: "crowd", Title: "Many goroutines that want one key",
	About: "Each process has one client, and its goroutines acquire the lock, hold it, release it, and ask again at once. They run in the process of their client, so nothing passes between processes but the client's own requests. Units are those of all processes.",
	Ratio: "turns",
	Columns: []Column{
		{"turns", "turns/s", 0},
		{"processor", "processor seconds of all clients for 1,000 turns", 2},
		{"requests", "requests a turn", 2},
		{"write units", "write units a turn", 2},
		{"read units", "read units a turn", 2},
	},
	Variants: func(s Size) []Variant {
		measured := pick(s, 1.0, 8)
		one := Crowd{Goroutines: 8, Before: pick(s, 0.3, 1), Seconds: measured}
		many := Crowd{Goroutines: 32, Hold: 0.001, Before: pick(s, 0.5, 3), Seconds: measured}
		processes := pick(s, 4, 20)
		return []Variant{
			{
				Name: fmt.Sprintf("%d goroutines of one client, no hold", one.Goroutines),
				Measure: func(ctx context.Context, t *Trial) (Values, error) {
					return measureCrowd(ctx, t, 1, one)
				},
				Most: units(2000*(one.Before+one.Seconds), 4, 4, 2),
			},
			{
				Name: fmt.Sprintf("%d processes of %d goroutines, holds of 1 ms", processes, many.Goroutines),
				Measure: func(ctx context.Context, t *Trial) (Values, error) {
					return measureCrowd(ctx, t, processes, many)
				},
			},
		}
	},
}

func measureCrowd(ctx context.Context, t *Trial, processes int, c Crowd) (Values, error) {
	var clients []Client
	for range processes {
		_, client, err := t.client(ctx, defaultLease)
		if err == nil {
			_, _, err = cycle(ctx, client, "warm")
		}
		if err != nil {
			return nil, err
		}
		clients = append(clients, client)
	}
	if _, _, err := cycle(ctx, clients[0], CrowdKey); err != nil {
		return nil, err
	}
	all := make([]Done, processes)
	ended := make(chan error, 1)
	go func() {
		ended <- Each(processes, processes, func(i int) (err error) {
			all[i], err = clients[i].Contend(ctx, c)
			return err
		})
	}()
	// Each process begins when its request arrives, and counts for as long. So do the units.
	_ = pause(ctx, seconds(c.Before))
	before := t.count()
	_ = pause(ctx, seconds(c.Seconds))
	after := t.count()
	if err := <-ended; err != nil {
		return nil, err
	}
	sum, rate, used := 0, 0.0, 0.0
	for _, done := range all {
		sum += done.Cycles
		rate += float64(done.Cycles) / done.Seconds
		used += done.CPUSeconds
	}
	if sum == 0 {
		return nil, errors.New("no turn ended")
	}
	v := Values{"turns": rate, "processor": used * 1000 / float64(sum)}
	if t.Count != nil {
		v.cost(after.Sub(before), sum)
	}
	return v, nil
}
