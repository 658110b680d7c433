package multi

import "sync"

// sideBySide is in how many of its queues an Acquire looks as often as for one lock,
// and how many calls Each makes at a time.
const sideBySide = 16

// Each calls f for 0 to n-1, some at a time, and all that are left once hurry is
// closed. A nil hurry never is.
func Each(n int, hurry <-chan struct{}, f func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, sideBySide)
	for i := range n {
		select {
		case slots <- struct{}{}:
			wg.Go(func() {
				defer func() { <-slots }()
				f(i)
			})
		case <-hurry:
			wg.Go(func() { f(i) })
		}
	}
	wg.Wait()
}
