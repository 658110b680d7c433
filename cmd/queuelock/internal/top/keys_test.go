package top

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queue"
)

// TestFilter checks that a filter hides other queues, by name, owner and data.
func TestFilter(t *testing.T) {
	b := held("b", 1)
	b.Serving[0].Owner, b.Serving[0].Data = "Ada", []byte("q 7")
	all := scanned(held("abc", 2), b)
	for text, want := range map[string][]string{"bc": {"abc"}, "ada": {"b"}, "q 7": {"b"}, "zzz": nil, "": {"abc", "b"}} {
		m, _ := play(all, press("o"), press("o"), press("/"))
		for _, r := range text {
			m, _ = update(m, press(strings.ReplaceAll(string(r), " ", "space")))
		}
		m, _ = update(m, press("enter"))
		var names []string
		for _, e := range m.shown() {
			names = append(names, e.Entity)
		}
		if !reflect.DeepEqual(names, want) || m.typing {
			t.Errorf("filter %q: %v, want %v", text, names, want)
		}
		if m, _ = update(m, press("esc")); len(m.shown()) != 2 {
			t.Errorf("filter %q is not dropped", text)
		}
	}
	m, _ := play(all, press("/"), press("x"), press("x"), press("backspace"))
	shows(t, m, "/x_")
	if _, sent := update(m, press("ctrl+c")); !reflect.DeepEqual(sent, []any{tea.QuitMsg{}}) {
		t.Errorf("Ctrl-C: %v", sent)
	}
}

func TestOrder(t *testing.T) {
	m, _ := play(scanned(held("a", 1, time.Second), held("c", time.Minute), held("b", 1, time.Minute)))
	for _, want := range []string{"b a c", "c a b", "a b c", "b a c"} {
		var names []string
		for _, e := range m.shown() {
			names = append(names, e.Entity)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%v: %s, want %s", m.order, got, want)
		}
		m, _ = update(m, press("o"))
	}
}

// TestSelection checks that the selection follows a queue whose place changes.
func TestSelection(t *testing.T) {
	m, _ := play(scanned(held("a", 1, 3*time.Second), held("b", 1, 2*time.Second), idle("c")), press("down"))
	if m.selected.Entity != "b" {
		t.Fatalf("%v is selected", m.selected)
	}
	m, _ = update(m, scanned(held("a", 1), held("b", 1, 4*time.Second), idle("c")))
	if list := m.shown(); len(list) != 2 || list[0].Entity != "b" || m.cursor(list) != 0 {
		t.Errorf("%d queues, the cursor is at %d", len(list), m.cursor(list))
	}
	m, _ = update(m, press("a"))
	m, _ = update(m, press("end"))
	if m.selected.Entity != "c" || len(m.shown()) != 3 {
		t.Errorf("%v of %d is selected", m.selected, len(m.shown()))
	}
	for _, key := range []string{"up", "k", "pgup", "home", "g", "down", "j", "pgdown", "space", "G"} {
		if m, _ = update(m, press(key)); m.cursor(m.shown()) >= 3 {
			t.Errorf("after %s the cursor is at %d", key, m.cursor(m.shown()))
		}
	}
	if empty, sent := play(scanned(), press("enter")); sent != nil || empty.inspecting {
		t.Error("an empty list can be inspected")
	}
}

// TestHelp checks that the keys are listed, and that the next key closes the list.
func TestHelp(t *testing.T) {
	m, _ := play(scanned(held("a", 1)), press("?"))
	shows(t, m, "order by wait", "any key: back")
	m, sent := update(m, press("q"))
	shows(t, m, "> a")
	if sent != nil {
		t.Errorf("sent %v", sent)
	}
}

func TestQuit(t *testing.T) {
	for _, msgs := range [][]tea.Msg{{press("q")}, {press("ctrl+c")}, {scanned(held("a", 1)), press("enter"), press("q")}} {
		if _, sent := play(msgs...); !reflect.DeepEqual(sent, []any{tea.QuitMsg{}}) {
			t.Errorf("%v: %v", msgs, sent)
		}
	}
}

// TestInspect checks that a queue is looked at again and again, one look at a time, and
// that waiters are shown to move up.
func TestInspect(t *testing.T) {
	key := queuelock.Key{Entity: "a", Reason: "lock"}
	look := []any{key}
	m, sent := play(scanned(held("a", 1, 2)), press("enter"))
	if !reflect.DeepEqual(sent, look) {
		t.Fatalf("sent %v", sent)
	}
	if _, sent = update(m, Tick(now)); sent != nil {
		t.Errorf("a second look at a time: %v", sent)
	}
	m, _ = update(m, Inspected{Key: key, State: held("a", 0, time.Second, time.Second, time.Second)})
	m, sent = update(m, Tick(now))
	if !reflect.DeepEqual(sent, look) {
		t.Fatalf("sent %v", sent)
	}
	next := held("a", time.Second, 2*time.Second, 2*time.Second, 2*time.Second)
	next.Serving[0].Ticket, next.Waiting = n(13), next.Waiting[1:]
	next.Waiting[0].Position, next.Waiting[1].Position = 1, 2
	m, _ = update(m, Inspected{Key: key, State: next})
	shows(t, m, `"a" (lock): 1 served, 2 waiting`, "> served  13 ", "  1 ^1    14 ", "  2 ^1    15 ", "esc back")
	m, _ = update(m, Inspected{Key: queuelock.Key{Entity: "other"}, State: idle("other")})
	hides(t, m, "idle")
	m, _ = update(m, Inspected{Key: key, Err: errors.New("no answer")})
	shows(t, m, "! no answer")
	m, _ = update(m, press("esc"))
	shows(t, m, "queuelock top")
}

// TestEvict checks that an eviction is asked about, for the holder that was shown.
func TestEvict(t *testing.T) {
	key := queuelock.Key{Entity: "a", Reason: "lock"}
	shown := held("a", time.Second)
	m, sent := play(scanned(shown), press("e"))
	if !reflect.DeepEqual(sent, []any{key}) {
		t.Fatalf("the holder is not looked at first: %v", sent)
	}
	if m, sent = update(m, Inspected{Key: key, State: shown}); sent != nil || !strings.Contains(screen(m), "evict ticket 12? It may run") {
		t.Fatalf("sent %v\n%s", sent, screen(m))
	}
	for _, no := range []string{"n", "enter", "esc", "q", "e"} {
		if refused, sent := update(m, press(no)); sent != nil || !strings.Contains(screen(refused), "nothing was evicted") {
			t.Errorf("after %s: %v\n%s", no, sent, screen(refused))
		}
	}
	m, sent = update(m, press("y"))
	if !reflect.DeepEqual(sent, []any{Evict{Key: key, Holder: shown.Serving[0]}}) {
		t.Fatalf("sent %v", sent)
	}
	done, sent := update(m, Evicted{Holder: shown.Serving[0]})
	if !reflect.DeepEqual(sent, []any{key}) || !strings.Contains(screen(done), "ticket 12 is evicted") {
		t.Errorf("sent %v\n%s", sent, screen(done))
	}
	failed, _ := update(m, Evicted{Holder: shown.Serving[0], Err: errors.New("it has renewed its lease")})
	shows(t, failed, "it has renewed its lease")
	m, _ = play(scanned(shown), press("enter"), Inspected{Key: key, State: shown}, press("E"))
	shows(t, m, "evict the holder of the moment")
	if _, sent = update(m, press("y")); !reflect.DeepEqual(sent, []any{Evict{Key: key, Holder: shown.Serving[0], Present: true}}) {
		t.Errorf("sent %v", sent)
	}
	m, _ = play(scanned(idle("a")), press("a"), press("e"), Inspected{Key: key, State: idle("a")})
	shows(t, m, "there is no holder to evict")
	fails := held("a", time.Second)
	fails.Serving[0].Lease = queue.Lease{FailClosed: true}
	fails.Serving = append(fails.Serving, held("b", 0).Serving...)
	m, _ = play(scanned(fails), press("enter"), Inspected{Key: key, State: fails}, press("e"))
	shows(t, m, "It has no lease: its process must have ended")
	_, sent = play(scanned(fails), press("enter"), Inspected{Key: key, State: fails}, press("down"), press("e"), press("y"))
	if !reflect.DeepEqual(sent, []any{Evict{Key: key, Holder: fails.Serving[1]}}) {
		t.Errorf("sent %v, want the second holder", sent)
	}
}
