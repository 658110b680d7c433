package session

import "context"

// turnstile lets one operation at a time through. Unlike a mutex it may be kept across
// a request, and waiting for it ends with a context. It guards what the operations
// change.
type turnstile chan struct{}

func newTurnstile() turnstile { return make(turnstile, 1) }

// Lock waits until the turnstile is free, or returns ctx's error. A free one is had
// even if ctx has ended.
func (t turnstile) Lock(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unlock lets the next operation through.
func (t turnstile) Unlock() { <-t }
