package top

import (
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
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
	if !strings.Contains(screen(m), "/x_") {
		t.Errorf("%s", screen(m))
	}
	if _, sent := update(m, press("ctrl+c")); !reflect.DeepEqual(sent, []any{tea.QuitMsg{}}) {
		t.Errorf("Ctrl-C: %v", sent)
	}
}

// TestOrder checks the orders of the list.
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
	if text := screen(m); !strings.Contains(text, "order by wait") || !strings.Contains(text, "any key: back") {
		t.Errorf("%s", text)
	}
	if m, sent := update(m, press("q")); sent != nil || !strings.Contains(screen(m), "> a") {
		t.Errorf("%v\n%s", sent, screen(m))
	}
}

// TestQuit checks the keys that end the program.
func TestQuit(t *testing.T) {
	for _, msgs := range [][]tea.Msg{{press("q")}, {press("ctrl+c")}, {scanned(held("a", 1)), press("enter"), press("q")}} {
		if _, sent := play(msgs...); !reflect.DeepEqual(sent, []any{tea.QuitMsg{}}) {
			t.Errorf("%v: %v", msgs, sent)
		}
	}
}
