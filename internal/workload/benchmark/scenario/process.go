package scenario

import (
	"context"
	"strconv"
	"sync"
	"time"
)

// Process is a process with clients, or what stands for one.
type Process interface {
	// Open makes a client with connections of its own.
	Open(ctx context.Context, lease time.Duration) (Client, error)
	// Usage collects garbage and reports the memory of the process.
	Usage(ctx context.Context) (Usage, error)
	// Kill ends the process as a crash does: it sends nothing any more.
	Kill()
	// End ends the process after a measurement. It may follow Kill.
	End()
}

// Client is a client in a process.
type Client interface {
	// Acquire waits for the lock.
	Acquire(ctx context.Context, key string) (Turn, error)
	// Try acquires the lock if it is free.
	Try(ctx context.Context, key string) (turn Turn, granted bool, err error)
	// Cycles acquires and releases many keys.
	Cycles(ctx context.Context, work Work) (Done, error)
	// Contend takes turns at one key.
	Contend(ctx context.Context, crowd Crowd) (Done, error)
}

// Turn is a lock that a client holds.
type Turn struct {
	Granted time.Time
	Release Release
}

// Usage is what a process needs.
type Usage struct {
	Memory     uint64 `json:"memory,omitempty"`     // of the heap and, in Go, of stacks
	Goroutines int    `json:"goroutines,omitempty"` // -1 if there are none
}

// Release ends a turn.
type Release func(context.Context) error

// Locker is one client, as one process of a fleet has it.
type Locker interface {
	// Acquire waits for the lock until ctx ends.
	Acquire(ctx context.Context, key string) (Release, error)
	// Try acquires the lock if it is free. A nil Release says that it is not.
	Try(ctx context.Context, key string) (Release, error)
}

// Work is a number of loops that acquire and release many keys in turn: each key at
// least once, and until that many seconds are over or that many cycles are done.
type Work struct {
	Keys        int     `json:"keys"`
	Concurrency int     `json:"concurrency"`
	Seconds     float64 `json:"seconds"`
	Most        int     `json:"most,omitempty"` // zero for no limit
}

// AllKeys returns the keys of the work.
func (w Work) AllKeys() []string {
	var all []string
	for n := range w.Keys {
		all = append(all, workKey(n))
	}
	return all
}

func workKey(n int) string { return "key-" + strconv.Itoa(n) }

// Done is what became of a Work or a Crowd.
type Done struct {
	Cycles     int     `json:"cycles,omitempty"`
	Seconds    float64 `json:"seconds,omitempty"`
	CPUSeconds float64 `json:"cpuSeconds,omitempty"`
}

// Do does the work, and measures it and the processor time of this process.
func (w Work) Do(ctx context.Context, client Locker) (Done, error) {
	begun := time.Now()
	end := begun.Add(time.Duration(w.Seconds * float64(time.Second)))
	before := processorSeconds()
	done := make([]int, w.Concurrency)
	errs := make(chan error, w.Concurrency)
	var loops sync.WaitGroup
	for i := range w.Concurrency {
		loops.Go(func() {
			for n := i; n < w.Keys || time.Now().Before(end) && (w.Most == 0 || n < w.Most); n += w.Concurrency {
				release, err := client.Acquire(ctx, workKey(n%w.Keys))
				if err == nil {
					err = release(ctx)
				}
				if err != nil {
					errs <- err
					return
				}
				done[i]++
			}
		})
	}
	loops.Wait()
	all := Done{Seconds: time.Since(begun).Seconds(), CPUSeconds: processorSeconds() - before}
	for _, n := range done {
		all.Cycles += n
	}
	select {
	case err := <-errs:
		return all, err
	default:
		return all, nil
	}
}
