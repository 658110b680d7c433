// Package group counts calls and goroutines that are under way. Unlike a sync.WaitGroup, a
// [Group] is waited for until a context ends, and may be entered during a wait, and [All] hands on panics.
package group

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// ErrClosed says that what counts the calls takes no more of them.
var ErrClosed = errors.New("queuelock: the client is closed")

// Group is a number of calls and goroutines. The zero Group is empty.
type Group struct {
	mu   sync.Mutex
	n    int           // guarded by mu
	idle chan struct{} // guarded by mu; closed when n falls to zero
}

// Enter adds one.
func (g *Group) Enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n++; g.n == 1 {
		g.idle = make(chan struct{})
	}
}

// Leave removes one.
func (g *Group) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.n == 0 {
		close(g.idle)
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
	n, idle := g.n, g.idle
	g.mu.Unlock()
	if n == 0 {
		return nil // even if ctx has ended
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// All is a set of goroutines that all run to their ends, also if one panics. The zero All is empty.
type All struct {
	all sync.WaitGroup
	mu  sync.Mutex
	end func() // guarded by mu
}

// Go runs f in a goroutine.
func (a *All) Go(f func()) {
	a.all.Go(func() {
		returned := false
		defer func() {
			if returned {
				return
			}
			end := runtime.Goexit
			if v := recover(); v != nil {
				end = func() { panic(v) }
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.end = end
		}()
		f()
		returned = true
	})
}

// Wait waits until all have ended. The function that it returns ends its goroutine like one of them that has not
// returned: by its panic, or by runtime.Goexit. If all have returned, it does nothing.
func (a *All) Wait() (end func()) {
	a.all.Wait()
	if a.end == nil {
		return func() {}
	}
	return a.end
}
