package sim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/planted"
	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/test/sim"
)

// storyLines is how long a story may be, so that it is read.
const storyLines = 60

// TestStory leaves conditions out of writes, and reads the story of what follows: it leads up to the violation, and says
// which write it was.
func TestStory(t *testing.T) {
	for _, c := range []struct {
		leave, write, violation string
		seed                    uint64 // where the search for the violation begins
	}{
		{"CLAIM: *", "CLAIM of ", "believed to hold", 10},
		{"HEARTBEAT: not late", "the late HEARTBEAT of ", "the end of holder", 4},
		{"ENQUEUE: no row", "the late ENQUEUE of ", "the end of the row", 3},
	} {
		t.Run(c.leave, func(t *testing.T) {
			planted.Leave = leaves(c.leave)
			t.Cleanup(func() { planted.Leave = leaves(*left) })
			told := ""
			for seed := c.seed; seed < c.seed+50 && !strings.Contains(told, c.violation); seed++ {
				plan := sim.NewPlan(seed, 4*time.Minute)
				plan.AnyWrites = true // else what is sent is a violation before anything goes wrong
				told = sim.Run(t, plan).Story
			}
			lines := strings.Split(strings.TrimSpace(told), "\n")
			if len(lines) < 10 || len(lines) > storyLines {
				t.Errorf("the story has %d lines", len(lines))
			}
			last := ""
			for _, line := range lines {
				switch {
				case strings.HasPrefix(line, "# VIOLATION: ") && strings.Contains(line, c.violation):
					if !strings.Contains(last, c.write) {
						t.Errorf("the step before the violation is %q, want a %s", last, c.write)
					}
					last = "found"
				case line == "", line[0] == ' ', line[0] == '#', strings.HasPrefix(line, "world: "):
				case !story.IsStep(line):
					t.Errorf("%q is no step of a transcript", line)
				case last != "found":
					last = line
				}
			}
			if last != "found" {
				t.Error("the story has no such violation")
			}
			if t.Failed() {
				t.Log(told)
			}
		})
	}
}
