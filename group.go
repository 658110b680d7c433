package queuelock

import (
	"context"
	"sync"
)

// group counts what is under way. Unlike a sync.WaitGroup it can be waited for
// until a context ends, without a goroutine that stays behind, and it may be
// entered while somebody waits.
type group struct {
	mu   sync.Mutex
	n    int           // guarded by mu
	idle chan struct{} // guarded by mu; closed when n falls to zero, nil if nobody waits
}

func (g *group) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
}

func (g *group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.n == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// run runs f in a goroutine.
func (g *group) run(f func()) {
	g.enter()
	go func() {
		defer g.leave()
		f()
	}()
}

// wait waits until nothing is under way, or returns ctx's error.
func (g *group) wait(ctx context.Context) error {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
