package docs_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

const (
	deploys  = "examples/deploys/deploy.yml"
	thisRepo = "queuelock/queuelock@"
)

// action is what the tests read of action.yml.
type action struct {
	Inputs map[string]struct {
		Description string
		Required    bool
		Default     string
	}
	Outputs map[string]struct{ Description string }
	Runs    struct {
		Using, Main, Post string
		PostIf            string `yaml:"post-if"`
	}
}

func readAction(t *testing.T) (a action) {
	t.Helper()
	locktest.OK(t, yaml.Unmarshal([]byte(read(t, "action.yml")), &a))
	return a
}

// TestAction checks that the steps of the action are there, and that the post step runs after each end of a job. Its own
// tests, of "make action-test", compare the inputs with the program.
func TestAction(t *testing.T) {
	a := readAction(t)
	if a.Runs.Using != "node24" || a.Runs.PostIf != "always()" {
		t.Errorf("it runs by %q, and its post step if %q", a.Runs.Using, a.Runs.PostIf)
	}
	for _, file := range []string{a.Runs.Main, a.Runs.Post} {
		if _, err := os.Stat(filepath.Join(root, file)); err != nil || file == "" {
			t.Errorf("the step %q: %v", file, err)
		}
	}
	for name, i := range a.Inputs {
		if i.Description == "" {
			t.Errorf("input %s has no description", name)
		}
	}
	for name, o := range a.Outputs {
		if o.Description == "" {
			t.Errorf("output %s has no description", name)
		}
	}
}

// TestDeployExamples compares the workflows of the example with the action and with the bounds of a lock.
func TestDeployExamples(t *testing.T) {
	for _, file := range []string{deploys, "examples/deploys/lane.yml"} {
		checkWorkflow(t, file)
	}
}

func checkWorkflow(t *testing.T, file string) {
	t.Helper()
	text := read(t, file)
	var w struct {
		Jobs map[string]struct {
			TimeoutMinutes int `yaml:"timeout-minutes"`
			Steps          []struct {
				ID, If, Uses, Run string
				With              map[string]string
			}
		}
	}
	locktest.OK(t, yaml.Unmarshal([]byte(text), &w))
	a, used := readAction(t), 0
	for id, job := range w.Jobs {
		longest := time.Duration(job.TimeoutMinutes) * time.Minute
		if most := locktest.Must(time.ParseDuration(a.Inputs["max-hold"].Default)); longest == 0 || longest > most {
			t.Errorf("job %s may take %v, and the lock is released after %v", id, longest, most)
		}
		asks := "" // what later steps must ask, as the job may go on without the lock
		for _, step := range job.Steps {
			if !strings.Contains(step.If, asks) {
				t.Errorf("%s runs without the lock: %q", cmp.Or(step.Uses, step.Run), step.If)
			}
			if seconds := step.With["role-duration-seconds"]; seconds != "" && locktest.Must(time.ParseDuration(seconds+"s")) < longest {
				t.Errorf("the credentials of job %s last for %s s, and the job for %v", id, seconds, longest)
			}
			version, ours := strings.CutPrefix(step.Uses, thisRepo)
			if !ours {
				continue
			}
			used++
			if step.With["conflict-exit-code"] == "0" {
				asks = "steps." + step.ID + ".outputs.acquired == "
			}
			if step.With["version"] != version {
				t.Errorf("%s downloads %q", step.Uses, step.With["version"])
			}
			for name := range step.With {
				if _, ok := a.Inputs[name]; !ok {
					t.Errorf("the action has no input %s", name)
				}
			}
			for name, i := range a.Inputs {
				if i.Required && step.With[name] == "" {
					t.Errorf("%s has no %s", step.Uses, name)
				}
			}
			if wait := locktest.Must(time.ParseDuration(step.With["wait"])); wait >= longest {
				t.Errorf("job %s waits for %v, and ends after %v", id, wait, longest)
			}
		}
	}
	if used != 1 {
		t.Errorf("%s uses the action %d times", file, used)
	}
}

// TestActionPage checks that the page of the action shows a part of the example.
func TestActionPage(t *testing.T) {
	text := read(t, deploys)
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	shown := 0
	for _, s := range snippets(t) {
		if strings.HasPrefix(s.where, "action/") {
			shown++
			if !contains(lines, s.lines) {
				t.Errorf("%s is not a part of %s", s.where, deploys)
			}
		}
	}
	if shown != 1 {
		t.Errorf("the page of the action shows %d parts", shown)
	}
}
