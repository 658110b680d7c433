package top

import (
	"fmt"
	"unicode/utf8"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
)

// press reacts to a key.
func (m Model) press(key string) (Model, []Effect) {
	m.message = ""
	switch {
	case key == "ctrl+c":
		return m, []Effect{Quit{}}
	case m.confirm != nil:
		return m.answer(key)
	case m.help:
		m.help = false
		return m, nil
	case m.typing:
		return m.typed(key), nil
	}
	switch key {
	case "?":
		m.help = true
		return m, nil
	case "q":
		return m, []Effect{Quit{}}
	case "e":
		if m.inspecting {
			return m.ask(), nil
		}
		m.evicting = true
		return m.open()
	}
	if m.inspecting {
		return m.pressInspecting(key), nil
	}
	return m.pressList(key)
}

// pressList reacts to a key of the list.
func (m Model) pressList(key string) (Model, []Effect) {
	shown := m.shown()
	at := m.cursor(shown)
	switch key {
	case "up", "k":
		at--
	case "down", "j":
		at++
	case "pgup":
		at -= m.rows()
	case "pgdown", "space":
		at += m.rows()
	case "home", "g":
		at = 0
	case "end", "G":
		at = len(shown)
	case "a":
		m.all = !m.all
		return m, nil
	case "o":
		m.order = (m.order + 1) % orders
		return m.sort(), nil
	case "/":
		m.typing = true
		return m, nil
	case "esc":
		m.filter = ""
		return m, nil
	case "enter":
		return m.open()
	}
	if len(shown) > 0 {
		m.selected = shown[min(max(at, 0), len(shown)-1)].key()
	}
	return m, nil
}

// answer is the answer to the question whether a holder is to be evicted.
func (m Model) answer(key string) (Model, []Effect) {
	eviction := *m.confirm
	m.confirm = nil
	if key == "y" || key == "Y" {
		m.message = fmt.Sprintf("evicting ticket %s …", eviction.Holder.Turn().Short())
		if eviction.Present {
			m.message = "evicting the present holder …"
		}
		return m, []Effect{eviction}
	}
	m.message = "nothing was evicted"
	return m, nil
}

func (m Model) pressInspecting(key string) Model {
	switch key {
	case "esc", "backspace", "left", "h":
		m.inspecting, m.looking, m.state, m.moved, m.evicting = false, false, nil, nil, false
	case "E":
		if m = m.ask(); m.confirm != nil {
			m.confirm.Present = true
		}
	case "up", "k":
		m.holder = max(0, m.holder-1)
	case "down", "j":
		if m.state != nil {
			m.holder = min(m.holder+1, max(0, len(m.state.Serving)-1))
		}
	}
	return m
}

// typed adds a key to the filter.
func (m Model) typed(key string) Model {
	runes := []rune(m.filter)
	switch {
	case key == "enter":
		m.typing = false
	case key == "esc":
		m.typing, m.filter = false, ""
	case key == "backspace" && len(runes) > 0:
		m.filter = string(runes[:len(runes)-1])
	case key == "space":
		m.filter += " "
	case utf8.RuneCountInString(key) == 1 && display.Printable(key):
		m.filter += key
	}
	return m
}

// open inspects the selected queue.
func (m Model) open() (Model, []Effect) {
	list := m.shown()
	if len(list) == 0 {
		m.evicting = false
		m.message = "there is no queue to choose"
		return m, nil
	}
	m.selected = list[m.cursor(list)].key()
	m.inspecting, m.looking, m.subject, m.state, m.moved, m.holder = true, false, m.selected, nil, nil, 0
	return m.look()
}
