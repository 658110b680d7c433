// Package group counts calls and goroutines that are under way. Unlike a sync.WaitGroup, a
// Group is waited for until a context ends, and may be entered during a wait.
package group

import (
	"context"
	"sync"
)

// Group is a number of calls and goroutines. The zero Group is empty.
type Group struct {
	mu   sync.Mutex
	n    int           // guarded by mu
	idle chan struct{} // guarded by mu; closed when n falls to zero, nil if nothing waits
}

// Enter adds one.
func (g *Group) Enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
}

// Leave removes one.
func (g *Group) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.n == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// Run runs f in a goroutine.
func (g *Group) Run(f func()) {
	g.Enter()
	go func() {
		defer g.Leave()
		f()
	}()
}

// Wait waits until the group is empty, or returns ctx's error.
func (g *Group) Wait(ctx context.Context) error {
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
