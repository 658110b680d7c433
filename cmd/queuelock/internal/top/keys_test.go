package top

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestFilter checks that a filter hides other queues, by name, owner and data.
func TestFilter(t *testing.T) {
	b := held("b", 1)
	b.Serving[0].Owner, b.Serving[0].Data = "Ada", []byte("q 7")
	all := scanned(held("abc", 2), b)
	for text, want := range map[string][]string{"bc": {"abc"}, "ada": {"b"}, "q 7": {"b"}, "zzz": nil, "": {"abc", "b"}} {
		m, _ := play(all, Key("o"), Key("o"), Key("/"))
		for _, r := range text {
			m, _ = m.Update(Key(strings.ReplaceAll(string(r), " ", "space")))
		}
		m, _ = m.Update(Key("enter"))
		var names []string
		for _, e := range m.shown() {
			names = append(names, e.Entity)
		}
		if !reflect.DeepEqual(names, want) || m.typing {
			t.Errorf("filter %q: %v, want %v", text, names, want)
		}
		if m, _ = m.Update(Key("esc")); len(m.shown()) != 2 {
			t.Errorf("filter %q is not dropped", text)
		}
	}
	m, _ := play(all, Key("/"), Key("x"), Key("x"), Key("backspace"))
	if !strings.Contains(screen(m), "/x_") {
		t.Errorf("%s", screen(m))
	}
	if _, effects := m.Update(Key("ctrl+c")); !reflect.DeepEqual(effects, []Effect{Quit{}}) {
		t.Errorf("Ctrl-C: %v", effects)
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
		m, _ = m.Update(Key("o"))
	}
}

// TestSelection checks that the selection follows a queue whose place changes.
func TestSelection(t *testing.T) {
	m, _ := play(scanned(held("a", 1, 3*time.Second), held("b", 1, 2*time.Second), idle("c")), Key("down"))
	if m.selected.Entity != "b" {
		t.Fatalf("%v is selected", m.selected)
	}
	m, _ = m.Update(scanned(held("a", 1), held("b", 1, 4*time.Second), idle("c")))
	if list := m.shown(); len(list) != 2 || list[0].Entity != "b" || m.cursor(list) != 0 {
		t.Errorf("%d queues, the cursor is at %d", len(list), m.cursor(list))
	}
	m, _ = m.Update(Key("a"))
	m, _ = m.Update(Key("end"))
	if m.selected.Entity != "c" || len(m.shown()) != 3 {
		t.Errorf("%v of %d is selected", m.selected, len(m.shown()))
	}
	for _, key := range []string{"up", "k", "pgup", "home", "g", "down", "j", "pgdown", "space", "G"} {
		if m, _ = m.Update(Key(key)); m.cursor(m.shown()) >= 3 {
			t.Errorf("after %s the cursor is at %d", key, m.cursor(m.shown()))
		}
	}
	if empty, effects := play(scanned(), Key("enter")); effects != nil || empty.inspecting {
		t.Error("an empty list can be inspected")
	}
}

// TestHelp checks that the keys are listed, and that the next key closes the list.
func TestHelp(t *testing.T) {
	m, _ := play(scanned(held("a", 1)), Key("?"))
	if text := screen(m); !strings.Contains(text, "order by wait") || !strings.Contains(text, "any key: back") {
		t.Errorf("%s", text)
	}
	if m, effects := m.Update(Key("q")); effects != nil || !strings.Contains(screen(m), "> a") {
		t.Errorf("%v\n%s", effects, screen(m))
	}
}

// TestQuit checks the keys that end the program.
func TestQuit(t *testing.T) {
	for _, msgs := range [][]any{{Key("q")}, {Key("ctrl+c")}, {scanned(held("a", 1)), Key("enter"), Key("q")}} {
		if _, effects := play(msgs...); !reflect.DeepEqual(effects, []Effect{Quit{}}) {
			t.Errorf("%v: %v", msgs, effects)
		}
	}
}
