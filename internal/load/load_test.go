package load_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/load"
	"github.com/queuelock/queuelock/queue"
)

func TestLoad(t *testing.T) {
	t.Run("MaxDataIsTheMostThatFits", func(t *testing.T) {
		for _, interval := range []time.Duration{500 * time.Millisecond, 5 * time.Second, 30 * time.Second, 10 * time.Minute} {
			for n := 1; n <= queue.MaxPermits; n++ {
				l := load.Holder{Owner: 30, Interval: interval}
				l.Data = l.MaxData(n, 4096)
				if l.Data < 0 {
					if _, fits := (load.Holder{Owner: 30, Interval: interval}).Units(n); fits {
						t.Fatalf("%d holders each %v fit without data, and none is possible", n, interval)
					}
					continue
				}
				if units, fits := l.Units(n); !fits {
					t.Fatalf("%d holders each %v with %d bytes: %.0f units", n, interval, l.Data, units)
				}
				if l.Data++; l.Data <= 4096 {
					if units, fits := l.Units(n); fits {
						t.Fatalf("%d holders each %v: %d bytes fit as well, with %.0f units", n, interval, l.Data, units)
					}
				}
			}
		}
	})
	t.Run("MaxHoldersIsTheMostThatFits", func(t *testing.T) {
		for _, interval := range []time.Duration{10 * time.Millisecond, 5 * time.Second, 30 * time.Second, 10 * time.Minute} {
			l := load.Holder{Owner: 30, Data: queue.MaxSharedData, Interval: interval}
			n := l.MaxHolders()
			if _, fits := l.Units(n); !fits && n > 1 {
				t.Errorf("%d each %v do not fit", n, interval)
			}
			if _, fits := l.Units(n + 1); fits && n < queue.MaxPermits {
				t.Errorf("%d each %v fit as well", n+1, interval)
			}
		}
	})
	t.Run("MinIntervalIsEnough", func(t *testing.T) {
		for _, n := range []int{2, 50, 300, 500} {
			l := load.Holder{Owner: 30}
			l.Interval = l.MinInterval(n)
			if units, fits := l.Units(n); !fits {
				t.Errorf("%d each %v: %.0f units", n, l.Interval, units)
			}
		}
	})
	t.Run("SharedDataFitsForAll", func(t *testing.T) {
		l := load.Holder{Owner: 256, Data: queue.MaxSharedData, Interval: time.Hour}
		if n := l.MaxHolders(); n != queue.MaxPermits {
			t.Errorf("%d holders with %d bytes", n, queue.MaxSharedData)
		}
	})
}
