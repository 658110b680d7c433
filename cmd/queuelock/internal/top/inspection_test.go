package top

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queue"
)

// TestInspect checks that a queue is looked at again and again, one look at a time, and
// that waiters are shown to move up.
func TestInspect(t *testing.T) {
	key := queuelock.Key{Entity: "a", Reason: "lock"}
	look := []Effect{Inspect{key}}
	m, effects := play(scanned(held("a", 1, 2)), Key("enter"))
	if !reflect.DeepEqual(effects, look) {
		t.Fatalf("effects %v", effects)
	}
	if _, effects = m.Update(Tick(now)); effects != nil {
		t.Errorf("a second look at a time: %v", effects)
	}
	m, _ = m.Update(Inspected{Key: key, State: held("a", 0, time.Second, time.Second, time.Second)})
	m, effects = m.Update(Tick(now))
	if !reflect.DeepEqual(effects, look) {
		t.Fatalf("effects %v", effects)
	}
	next := held("a", time.Second, 2*time.Second, 2*time.Second, 2*time.Second)
	next.Serving[0].Ticket, next.Waiting = n(13), next.Waiting[1:]
	next.Waiting[0].Position, next.Waiting[1].Position = 1, 2
	m, _ = m.Update(Inspected{Key: key, State: next})
	text := screen(m)
	for _, part := range []string{`"a" (lock): 1 served, 2 waiting`, "> served  13 ", "  1 ^1    14 ", "  2 ^1    15 ", "esc back"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	m, _ = m.Update(Inspected{Key: queuelock.Key{Entity: "other"}, State: idle("other")})
	if strings.Contains(screen(m), "idle") {
		t.Error("a late look at another queue is shown")
	}
	m, _ = m.Update(Inspected{Key: key, Err: errors.New("no answer")})
	if !strings.Contains(screen(m), "! no answer") {
		t.Errorf("no error in\n%s", screen(m))
	}
	if m, _ = m.Update(Key("esc")); !strings.Contains(screen(m), "queuelock top") {
		t.Errorf("the list is not back:\n%s", screen(m))
	}
}

// TestEvict checks that an eviction is asked about, for the holder that was shown.
func TestEvict(t *testing.T) {
	key := queuelock.Key{Entity: "a", Reason: "lock"}
	shown := held("a", time.Second)
	m, effects := play(scanned(shown), Key("e"))
	if !reflect.DeepEqual(effects, []Effect{Inspect{key}}) {
		t.Fatalf("the holder is not looked at first: %v", effects)
	}
	if m, effects = m.Update(Inspected{Key: key, State: shown}); effects != nil || !strings.Contains(screen(m), "evict ticket 12? It may run") {
		t.Fatalf("effects %v\n%s", effects, screen(m))
	}
	for _, no := range []string{"n", "enter", "esc", "q", "e"} {
		if refused, effects := m.Update(Key(no)); effects != nil || !strings.Contains(screen(refused), "nothing was evicted") {
			t.Errorf("after %s: %v\n%s", no, effects, screen(refused))
		}
	}
	m, effects = m.Update(Key("y"))
	if !reflect.DeepEqual(effects, []Effect{Evict{Key: key, Holder: shown.Serving[0]}}) {
		t.Fatalf("effects %v", effects)
	}
	done, effects := m.Update(Evicted{Holder: shown.Serving[0]})
	if !reflect.DeepEqual(effects, []Effect{Inspect{key}}) || !strings.Contains(screen(done), "ticket 12 is evicted") {
		t.Errorf("effects %v\n%s", effects, screen(done))
	}
	failed, _ := m.Update(Evicted{Holder: shown.Serving[0], Err: errors.New("it has renewed its lease")})
	if !strings.Contains(screen(failed), "it has renewed its lease") {
		t.Errorf("%s", screen(failed))
	}
	m, _ = play(scanned(shown), Key("enter"), Inspected{Key: key, State: shown}, Key("E"))
	if !strings.Contains(screen(m), "evict the holder of the moment") {
		t.Errorf("%s", screen(m))
	}
	if _, effects = m.Update(Key("y")); !reflect.DeepEqual(effects, []Effect{Evict{Key: key, Holder: shown.Serving[0], Present: true}}) {
		t.Errorf("effects %v", effects)
	}
	m, _ = play(scanned(idle("a")), Key("a"), Key("e"), Inspected{Key: key, State: idle("a")})
	if !strings.Contains(screen(m), "there is no holder to evict") {
		t.Errorf("%s", screen(m))
	}
	fails := held("a", time.Second)
	fails.Serving[0].Lease = queue.Lease{FailClosed: true}
	fails.Serving = append(fails.Serving, held("b", 0).Serving...)
	m, _ = play(scanned(fails), Key("enter"), Inspected{Key: key, State: fails}, Key("e"))
	if !strings.Contains(screen(m), "It has no lease: its process must have ended") {
		t.Errorf("%s", screen(m))
	}
	_, effects = play(scanned(fails), Key("enter"), Inspected{Key: key, State: fails}, Key("down"), Key("e"), Key("y"))
	if !reflect.DeepEqual(effects, []Effect{Evict{Key: key, Holder: fails.Serving[1]}}) {
		t.Errorf("effects %v, want the second holder", effects)
	}
}
