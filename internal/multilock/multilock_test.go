package multilock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/internal/play"
	"github.com/queuelock/queuelock/ticket"
)

func TestEach(t *testing.T) {
	for name, test := range map[string]struct {
		n     int
		hurry bool
		most  int
		took  time.Duration
	}{
		"None":                {},
		"OneBatch":            {n: sideBySide, most: sideBySide, took: time.Second},
		"SomeAtATime":         {n: 2*sideBySide + 1, most: sideBySide, took: 3 * time.Second},
		"AllAtOnceInAHurry":   {n: 3 * sideBySide, hurry: true, most: 3 * sideBySide, took: time.Second},
		"FewAtOnceInAHurry":   {n: 2, hurry: true, most: 2, took: time.Second},
		"OneAfterTheFirstFew": {n: sideBySide + 1, most: sideBySide, took: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hurry chan struct{}
				if test.hurry {
					hurry = make(chan struct{})
					close(hurry)
				}
				begun, calls := time.Now(), make([]int, test.n)
				var mu sync.Mutex
				running, most := 0, 0
				Each(t.Context(), test.n, hurry, func(_ context.Context, i int) {
					mu.Lock()
					calls[i]++
					running++
					most = max(most, running)
					mu.Unlock()
					time.Sleep(time.Second)
					mu.Lock()
					running--
					mu.Unlock()
				})
				for i, n := range calls {
					if n != 1 {
						t.Errorf("%d calls for %d", n, i)
					}
				}
				if most != test.most || time.Since(begun) != test.took {
					t.Errorf("at most %d at a time, in %v, want %d, %v", most, time.Since(begun), test.most, test.took)
				}
			})
		})
	}
}

func TestEndless(t *testing.T) {
	failed := errors.New("no answer")
	for name, test := range map[string]struct {
		left       []error
		failClosed bool
		want       bool
	}{
		"NotIfNothingIsLeft": {left: []error{nil, nil}, failClosed: true},
		"NotWithLease":       {left: []error{failed, nil}},
		"WithoutLease":       {left: []error{nil, failed}, failClosed: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			a := &acquisition{cfg: Config{FailClosed: test.failClosed}}
			if got := a.endless(test.left); got != test.want {
				t.Errorf("endless is %v", got)
			}
		})
	}
}

func TestError(t *testing.T) {
	refused := errors.New("no rights")
	orphan := &play.Orphan{Ticket: ticket.FromUint64(7), Err: errors.New("no answer")}
	var err error = &Error{Err: refused, Left: []error{nil, orphan}}
	if !errors.Is(err, refused) {
		t.Error("the cause is not found")
	}
	if got, ok := errors.AsType[*play.Orphan](err); !ok || got != orphan {
		t.Error("what is left is not found")
	}
	if want := "no rights\nticket 7 may be in the record without an owner: no answer"; err.Error() != want {
		t.Errorf("it says %q, want %q", err, want)
	}
}
