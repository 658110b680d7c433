package search

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/queue"
)

// transitions are those without which a search finds that an invariant is broken: see instead for what is done in place of
// each. The numbers are the steps of the shortest story.
var transitions = []struct {
	from, to     queue.Doing
	world, finds string
	steps        int
}{
	{queue.Idle, queue.Idle, "blocks, retakes", "overtaking", 17},
	{queue.Idle, queue.Removing, "blocks, retakes, gives up", "clean", 7},
	{queue.Idle, queue.Granted, "blocks, retakes, lost twice", "clean", 8},
	{queue.Taking, queue.Evicting, "no wait", "attempts", 24},
	{queue.Taking, queue.Confirming, "paused, fail closed", "confirm", 2},
	{queue.Taking, queue.Pausing, "gives up", "clean", 8},
	{queue.Taking, queue.Granted, "two turns each", "tickets", 17},
	{queue.Taking, queue.Ended, "no wait, readers", "attempts", 43},
	{queue.Checking, queue.Evicting, "no wait, names", "attempts", 51},
	{queue.Checking, queue.Ended, "no wait, names", "attempts", 69},
	{queue.Joining, queue.Looking, "three", "fifo", 12},
	{queue.Putting, queue.Looking, "three", "fifo", 14},
	{queue.Looking, queue.Sweeping, "late", "fifo", 19},
	{queue.Looking, queue.Evicting, "late twice", "livelock", 6},
	{queue.Looking, queue.Asking, "cancels", "asked", 5},
	{queue.Looking, queue.Keeping, "names, gives up, slow", "judged", 16},
	{queue.Looking, queue.Claiming, "three", "attempts", 31},
	{queue.Looking, queue.TakingOver, "resumed", "attempts", 24},
	{queue.Looking, queue.Removing, "passes, gives up", "clean", 11},
	{queue.Looking, queue.Confirming, "fail closed", "confirm", 9},
	{queue.Looking, queue.Pausing, "lost", "fifo", 13},
	{queue.Looking, queue.Granted, "gives up", "clean", 14},
	{queue.Looking, queue.Ended, "three", "livelock", 12},
	{queue.Sweeping, queue.Looking, "suspended", "fifo", 19},
	{queue.Asking, queue.Looking, "cancels", "livelock", 18},
	{queue.Asking, queue.Asking, "cancels, permits", "asked", 11},
	{queue.Claiming, queue.Confirming, "paused, fail closed", "confirm", 7},
	{queue.Claiming, queue.Pausing, "gives up", "clean", 13},
	{queue.Claiming, queue.Granted, "three", "clean", 18},
	{queue.TakingOver, queue.Pausing, "resumed, lost", "clean", 8},
	{queue.TakingOver, queue.Granted, "resumed", "clean", 12},
	{queue.Looking, queue.Accepting, "names, sleeper of two", "livelock", 9},
	{queue.Accepting, queue.Pausing, "names, sleeper, lost of two", "livelock", 12},
	{queue.Confirming, queue.Removing, "fail closed, late", "clean", 8},
	{queue.Confirming, queue.Pausing, "fail closed", "livelock", 3},
	{queue.Confirming, queue.Granted, "fail closed, late", "wedged", 7},
	{queue.Resting, queue.Looking, "two turns each", "fifo", 16},
	{queue.Resting, queue.Granted, "passes", "clean", 15},
	{queue.Pausing, queue.Taking, "lost twice", "livelock", 2},
	{queue.Pausing, queue.Entering, "wide, lost", "livelock", 2},
	{queue.Pausing, queue.Looking, "lost", "fifo", 15},
	{queue.Pausing, queue.Removing, "gives up", "clean", 8},
	{queue.Pausing, queue.Confirming, "fail closed", "confirm", 3},
}

// unneeded are the other transitions, and why no world needs them, of those that were tried.
var unneeded = map[string][]string{
	"the request follows after a pause": {
		"Idle/Taking", "Taking/Taking", "Idle/Entering", "Joining/Evicting", "Putting/Taking", "Sweeping/Evicting", "Evicting/Taking",
		"Evicting/Evicting", "Asking/Evicting", "Evicting/TakingOver", "TakingOver/TakingOver", "Claiming/Evicting", "Claiming/TakingOver", "Removing/Evicting",
		"Resting/Taking", "Ended/Taking", "Ended/Entering",
	},
	"saves nothing but a request that is refused, or finds nothing to resume": {
		"Idle/Looking", "Taking/Checking", "Looking/Looking", "Claiming/Looking",
	},
	"a waiter without a row is passed, and the checks of order ask for a row": {
		"Taking/Joining", "Entering/Joining", "Joining/Putting", "Looking/Joining", "Looking/Putting",
		"Sweeping/Putting", "Evicting/Putting", "Asking/Putting", "Removing/Joining", "Resting/Putting", "Pausing/Putting",
	},
	"a lease ends what is left, or only a late request leaves it, after which leftovers are not checked": {
		"Taking/Removing", "Joining/Removing", "Putting/Removing", "Evicting/Removing", "Claiming/Removing",
		"TakingOver/Removing", "Keeping/Removing", "Accepting/Removing", "Accepting/Granted", "Resetting/Removing", "Resting/Removing", "Ended/Removing",
	},
	"the request may be repeated at once": {
		"Checking/Pausing", "Entering/Pausing", "Evicting/Pausing",
	},
	"the id stays the own one, and the next look finds the grant": {
		"Entering/Granted", "Keeping/Granted",
	},
	"the next look comes to the same end": {
		"Entering/Ended", "Joining/Ended", "Evicting/Ended", "Claiming/Ended", "TakingOver/Ended",
		"Removing/Ended", "Resetting/Ended", "Confirming/Ended",
	},
	"a look finds the turn again": {
		"Joining/Claiming", "Putting/Claiming", "Sweeping/Claiming", "Evicting/Claiming", "Resting/Claiming",
	},
	"is the pace of looks": {
		"Joining/Resting", "Looking/Resting", "Sweeping/Resting", "Evicting/Resting", "Asking/Resting", "Claiming/Resting",
	},
	"follows seldom; from Looking it is needed": {
		"Evicting/Keeping", "Evicting/Accepting", "Claiming/Keeping", "Joining/Sweeping", "Evicting/Sweeping",
	},
	"the look after the row counts again": {
		"Taking/Looking",
	},
	"the next turn makes the queue idle": {
		"Removing/Resetting",
	},
}

// TestTransitionLists finds each transition of docs/protocol.md in one of the lists, and nothing else. The page has those that
// the search plays.
func TestTransitionLists(t *testing.T) {
	listed := map[string]int{}
	for _, c := range transitions {
		listed[fmt.Sprintf("%s/%s", c.from, c.to)]++
	}
	page, err := os.ReadFile("../../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	_, table, _ := strings.Cut(string(page), "<!-- begin states")
	table, _, _ = strings.Cut(table, "<!-- end")
	for _, row := range regexp.MustCompile(`(?m)^\| (\w+) \| .* \| (.*) \|$`).FindAllStringSubmatch(table, -1) {
		for _, to := range regexp.MustCompile(`[A-Z]\w+`).FindAllString(row[2], -1) {
			if row[1] == "state" || to == "Left" {
				continue // nothing is left to do
			}
			all = append(all, row[1]+"/"+to)
		}
	}
	inOneList(t, listed, unneeded, all)
}

// TestTransitions skips each of transitions, and finds a story of that length.
func TestTransitions(t *testing.T) {
	for _, c := range transitions {
		t.Run(fmt.Sprintf("%s/%s", c.from, c.to), func(t *testing.T) {
			t.Parallel()
			w := worldNamed(c.world)
			w.MaxStates = 400_000
			r := Run(w, Plant{Skips: true, From: c.from, To: c.to}, nil)
			if !strings.HasPrefix(r.Bad, c.finds+":") || r.Steps != c.steps {
				t.Errorf("in %q it finds %q in %d steps and %d states, want %s in %d:\n%s", c.world, r.Bad, r.Steps, r.States, c.finds, c.steps, r.Story)
			}
			t.Logf("%d steps, %d states: %s", r.Steps, r.States, r.Bad)
		})
	}
}
