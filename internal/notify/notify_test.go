package notify_test

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"testing"
	"testing/synctest"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/ticket"
)

// TestSilence checks that a report without a receiver costs no memory.
func TestSilence(t *testing.T) {
	warn := slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelWarn})
	for name, log := range map[string]*notify.Log{
		"NoLog": nil, "NoReceiver": notify.New(slog.New(slog.DiscardHandler), nil), "LevelIsHigher": notify.New(slog.New(warn), nil),
	} {
		t.Run(name, func(t *testing.T) {
			if n := testing.AllocsPerRun(100, func() {
				notify.Send(log, event.Queued{Origin: log.Origin(ticket.FromUint64(7)), Ahead: 3})
			}); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// TestDroppedEvents checks that of too many events those that matter least are dropped, and that their number is reported once.
func TestDroppedEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open, kept, dropped := make(chan struct{}), map[string]int{}, 0
		log := notify.New(slog.New(slog.DiscardHandler), event.Func(func(e event.Event) {
			<-open
			kept[fmt.Sprintf("%T", e)]++
			if d, ok := e.(event.Dropped); ok {
				dropped += d.Count
			}
		}))
		notify.Send(log, event.Granted{})
		synctest.Wait() // the Observer has it, and blocks
		for range 3 {
			notify.Send(log, event.Lost{})
			notify.Send(log, event.Evicted{})
		}
		for range 2 * notify.Waiting {
			notify.Send(log, event.Moved{})
		}
		close(open)
		want := map[string]int{
			"event.Granted": 1, "event.Lost": 3, "event.Evicted": 3, "event.Moved": notify.Waiting - 6, "event.Dropped": 1,
		}
		if err := log.Wait(t.Context()); err != nil || !maps.Equal(kept, want) || dropped != notify.Waiting+6 {
			t.Errorf("%v: it received %v, and %d were dropped", err, kept, dropped)
		}
	})
}

func TestTicketAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var again []bool
		log := notify.New(slog.New(slog.DiscardHandler), event.Func(func(e event.Event) {
			again = append(again, e.(event.Ticketed).Again)
		}))
		for range 2 {
			acquire := log.Of(event.Origin{Context: t.Context()})
			acquire.Ticket(ticket.FromUint64(1))
			acquire.Ticket(ticket.FromUint64(2))
		}
		synctest.Wait()
		if len(again) != 4 || again[0] || !again[1] || again[2] || !again[3] {
			t.Errorf("%v", again)
		}
	})
}
