package properties_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
)

// TestMeasureOfTurns checks that the measure follows the turns and stays positive.
func TestMeasureOfTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var turn queue.HoldTime
		length := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "length"))
		for range rapid.IntRange(0, 20).Draw(t, "others before") {
			turn = machine.AddTurn(turn, time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "before")))
			if turn.Mean < 0 || turn.Deviation < 0 || turn.Mean > time.Hour || turn.Deviation > time.Hour {
				t.Fatalf("measured %+v", turn)
			}
		}
		for range 200 {
			turn = machine.AddTurn(turn, length)
		}
		if d := (turn.Mean - length).Abs(); d > length/50+100 || turn.Deviation > length/20+100 {
			t.Fatalf("after 200 turns of %v measured %+v", length, turn)
		}
	})
}
