package top

import (
	"fmt"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
)

func (m *Model) press(key string) tea.Cmd {
	m.message = ""
	switch {
	case key == "ctrl+c":
		return tea.Quit
	case m.confirm != nil:
		return m.answer(key)
	case m.help:
		m.help = false
	case m.typing:
		m.typed(key)
	case key == "?":
		m.help = true
	case key == "q":
		return tea.Quit
	case key == "e" && m.inspecting:
		m.ask()
	case key == "e":
		m.evicting = true
		return m.open()
	case m.inspecting:
		m.pressInspecting(key)
	default:
		return m.pressList(key)
	}
	return nil
}

func (m *Model) pressList(key string) tea.Cmd {
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
		return nil
	case "o":
		m.order = (m.order + 1) % orders
		m.sort()
		return nil
	case "/":
		m.typing = true
		return nil
	case "esc":
		m.filter = ""
		return nil
	case "enter":
		return m.open()
	}
	if len(shown) > 0 {
		m.selected = shown[min(max(at, 0), len(shown)-1)].key()
	}
	return nil
}

// answer is the answer to the question whether a holder is to be evicted.
func (m *Model) answer(key string) tea.Cmd {
	ctx, c, eviction := m.ctx, m.Config, *m.confirm
	m.confirm = nil
	if key != "y" && key != "Y" {
		m.message = "nothing was evicted"
		return nil
	}
	m.message = fmt.Sprintf("evicting ticket %s …", eviction.Holder.Turn().Short())
	if eviction.Present {
		m.message = "evicting the present holder …"
	}
	return func() tea.Msg {
		holder, err := c.Evict(ctx, eviction)
		return Evicted{holder, c.described(err)}
	}
}

func (m *Model) pressInspecting(key string) {
	switch key {
	case "esc", "backspace", "left", "h":
		m.inspection = inspection{}
	case "E":
		if m.ask(); m.confirm != nil {
			m.confirm.Present = true
		}
	case "up", "k":
		m.holder = max(0, m.holder-1)
	case "down", "j":
		if m.state != nil {
			m.holder = min(m.holder+1, max(0, len(m.state.Serving)-1))
		}
	}
}

func (m *Model) typed(key string) {
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
}

func (m *Model) open() tea.Cmd {
	list := m.shown()
	if len(list) == 0 {
		m.evicting = false
		m.message = "there is no queue to choose"
		return nil
	}
	m.selected = list[m.cursor(list)].key()
	m.inspection = inspection{inspecting: true, subject: m.selected, evicting: m.evicting}
	return m.look()
}
