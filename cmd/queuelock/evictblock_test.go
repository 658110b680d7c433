package main

import (
	"testing"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// TestChoiceOfBlock checks that each ticket of a block names its holder: the turn that was shown may be over.
func TestChoiceOfBlock(t *testing.T) {
	block := queue.Holder{Ticket: ticket.FromUint64(11), Turns: 8, Reached: ticket.FromUint64(12)}
	for text, want := range map[string]bool{"10": false, "11": true, "12": true, "18": true, "19": false, "": true, "…8": true, "…9": false} {
		chosen, err := parseChoice(text)
		if err != nil || chosen.of(block) != want {
			t.Errorf("--ticket %q: %v, %v", text, chosen.of(block), err)
		}
	}
}
