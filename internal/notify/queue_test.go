package notify_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// pipe is a writer that takes nothing until it is opened.
type pipe struct {
	open chan struct{}
	text bytes.Buffer
}

func (p *pipe) Write(b []byte) (int, error) {
	<-p.open
	return p.text.Write(b)
}

func (p *pipe) messages() []string {
	var all []string
	for line := range strings.Lines(p.text.String()) {
		all = append(all, strings.TrimSpace(line[strings.Index(line, "msg=")+len("msg="):]))
	}
	return all
}

func TestQueue(t *testing.T) {
	locktest.InBubble(t, "PassesRecordsInOrder", func(t *testing.T) {
		q := notify.Queue{Capacity: 256}
		p := &pipe{open: make(chan struct{})}
		close(p.open)
		log := slog.New(q.Handler(slog.NewTextHandler(p, nil)))
		log.Info("first", "n", 1)
		log.Debug("below the level")
		log.With("a", "b").WithGroup("g").Warn("second", "n", 2)
		locktest.OK(t, q.Wait(t.Context()))
		if got := fmt.Sprint(p.messages()); got != "[first n=1 second a=b g.n=2]" {
			t.Error(got)
		}
	})
	locktest.InBubble(t, "DropsTheOldestOfABlockedHandler", func(t *testing.T) {
		q := notify.Queue{Capacity: 256}
		p := &pipe{open: make(chan struct{})}
		log := slog.New(q.Handler(slog.NewTextHandler(p, nil)))
		log.Info("taken")
		synctest.Wait() // the handler has it, and blocks
		for i := range q.Capacity + 3 {
			log.Info(fmt.Sprint(i))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Wait(ctx); err == nil {
			t.Error("a blocked queue counts as empty")
		}
		close(p.open)
		locktest.OK(t, q.Wait(t.Context()))
		got := p.messages()
		if len(got) != 2+q.Capacity || got[0] != "taken" || !strings.HasSuffix(got[1], "dropped=3") || got[2] != "3" {
			t.Errorf("%d records, the first are %q", len(got), got[:3])
		}
	})
	locktest.InBubble(t, "AsksLevelBeforeQueueing", func(t *testing.T) {
		q := notify.Queue{Capacity: 3}
		p := &pipe{open: make(chan struct{})}
		log := slog.New(q.Handler(slog.NewTextHandler(p, &slog.HandlerOptions{Level: slog.LevelWarn})))
		for i := range 3 {
			log.Error(fmt.Sprint(i))
			for range 300 {
				log.Debug("step")
			}
		}
		close(p.open)
		locktest.OK(t, q.Wait(t.Context()))
		if got := fmt.Sprint(p.messages()); got != "[0 1 2]" {
			t.Error(got)
		}
	})
	locktest.InBubble(t, "DropsTheLowestLevel", func(t *testing.T) {
		q := notify.Queue{Capacity: 4}
		p := &pipe{open: make(chan struct{})}
		log := slog.New(q.Handler(slog.NewTextHandler(p, &slog.HandlerOptions{Level: slog.LevelDebug})))
		log.Info("taken")
		synctest.Wait() // the handler has it, and blocks
		log.Error("lost")
		log.Debug("step 1")
		log.Warn("evicted")
		log.Info("swept")
		log.Error("lost again")
		log.Debug("step 2")
		log.Warn("evicted again")
		close(p.open)
		locktest.OK(t, q.Wait(t.Context()))
		got := p.messages()
		if len(got) != 6 || !strings.HasSuffix(got[1], "dropped=3") {
			t.Fatalf("%q", got)
		}
		if kept := strings.Join(append(got[:1], got[2:]...), " "); strings.ReplaceAll(kept, "\"", "") != "taken lost evicted lost again evicted again" {
			t.Error(kept)
		}
	})
}

// panicking is a handler that panics at all that begins with a name.
type panicking struct{ slog.Handler }

func (p panicking) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "bad") {
		panic(r.Message)
	}
	return p.Handler.Handle(ctx, r)
}

func (panicking) WithGroup(string) slog.Handler { panic("group") }

// TestPanickingHandler checks that a handler which panics is called again for the next record, and that the first of its panics is
// reported to the program's own logger.
func TestPanickingHandler(t *testing.T) {
	var own bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&own, nil)))
	defer slog.SetDefault(before)
	q := notify.Queue{Capacity: 256}
	p := &pipe{open: make(chan struct{})}
	close(p.open)
	log := slog.New(q.Handler(panicking{slog.NewTextHandler(p, nil)}))
	for _, message := range []string{"bad 1", "good 1", "bad 2", "good 2"} {
		log.WithGroup("g").Info(message)
	}
	locktest.OK(t, q.Wait(t.Context()))
	if got := fmt.Sprint(p.messages()); got != `["good 1" "good 2"]` {
		t.Error(got)
	}
	if got := own.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "the Logger panicked") {
		t.Error(got)
	}
}
