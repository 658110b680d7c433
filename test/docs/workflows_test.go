package docs_test

import (
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// workflow is what the tests read of a file of .github/workflows.
type workflow struct {
	name        string
	Permissions map[string]string
	Concurrency struct{ Group string }
	Jobs        map[string]struct {
		TimeoutMinutes int `yaml:"timeout-minutes"`
		Strategy       struct{ Matrix struct{ Part []string } }
		Steps          []struct{ Uses, Run string }
	}
}

// usedActions are those that set a job up, or keep what it has made.
var usedActions = []string{"actions/checkout", "actions/setup-go", "actions/upload-artifact", "docker/login-action", "docker/setup-buildx-action"}

// TestWorkflows checks that a workflow does nothing that "make" does not, and asks for no more than it needs.
func TestWorkflows(t *testing.T) {
	makefile := read(t, "Makefile")
	isTarget := func(name string) bool { return strings.Contains(makefile, "\n"+name+":") }
	found := workflows(t)
	for _, w := range found {
		if w.Permissions == nil || w.Concurrency.Group == "" {
			t.Errorf("%s has no permissions, or no concurrency group", w.name)
		}
		for scope, access := range w.Permissions {
			if scope != "contents" || access != "read" {
				t.Errorf("%s: all jobs may %s %s: give it to one", w.name, access, scope)
			}
		}
		for id, job := range w.Jobs {
			if job.TimeoutMinutes == 0 {
				t.Errorf("%s: job %s has no timeout", w.name, id)
			}
			for _, part := range job.Strategy.Matrix.Part {
				if !isTarget(part) {
					t.Errorf("%s: the Makefile has no target %q", w.name, part)
				}
			}
			for _, step := range job.Steps {
				action, version, _ := strings.Cut(step.Uses, "@")
				switch target, ok := strings.CutPrefix(step.Run, "make "); {
				case step.Uses != "" && !slices.Contains(usedActions, action):
					t.Errorf("%s: job %s uses %s", w.name, id, action)
				case step.Uses != "" && !regexp.MustCompile("^[0-9a-f]{40}$").MatchString(version):
					t.Errorf("%s: job %s uses %s, which is no commit", w.name, id, step.Uses)
				case step.Uses != "":
				case !ok || strings.ContainsAny(step.Run, ";&|\n`"):
					t.Errorf("%s: job %s runs %q, which is no target", w.name, id, step.Run)
				case strings.HasPrefix(target, "${{ matrix.part }}") && len(job.Strategy.Matrix.Part) > 0:
				case !isTarget(strings.Fields(target)[0]):
					t.Errorf("%s: the Makefile has no target for %q", w.name, step.Run)
				}
			}
		}
	}
	if len(found) < 3 {
		t.Errorf("found %d workflows", len(found))
	}
}

// TestNightly compares the jobs of the nightly workflow with the parts of its script, and these with the Makefile.
func TestNightly(t *testing.T) {
	parts := strings.Fields(string(locktest.Must(exec.Command("sh", filepath.Join(root, "internal/tools/nightly.sh"), "list").Output())))
	for _, w := range workflows(t) {
		if path.Base(w.name) == "nightly.yml" && !slices.Equal(w.Jobs["nightly"].Strategy.Matrix.Part, parts) {
			t.Errorf("%s has parts %q, the script %q", w.name, w.Jobs["nightly"].Strategy.Matrix.Part, parts)
		}
	}
}

// TestReleased checks that the variable which a release sets is there: the linker ignores a wrong name.
func TestReleased(t *testing.T) {
	set := regexp.MustCompile(`-X main\.(\w+)=v\{\{ \.Version }}`).FindStringSubmatch(read(t, ".goreleaser.yaml"))
	if set == nil || !strings.Contains(read(t, "cmd/queuelock/version.go"), "\nvar "+set[1]+" string\n") {
		t.Errorf(".goreleaser.yaml sets %q", set)
	}
}

// workflows reads the workflows of the project.
func workflows(t *testing.T) (found []workflow) {
	t.Helper()
	files(t, ".github/workflows", ".yml", func(name, text string) {
		w := workflow{name: name}
		if err := yaml.Unmarshal([]byte(text), &w); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		found = append(found, w)
	})
	return found
}

func TestYAML(t *testing.T) {
	for _, ending := range []string{".yml", ".yaml"} {
		found := 0
		files(t, "", ending, func(name, text string) {
			found++
			var content any
			if err := yaml.Unmarshal([]byte(text), &content); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		if found == 0 {
			t.Errorf("found no %s", ending)
		}
	}
}

// TestUpdates wants each go.mod, package.json and Dockerfile to be watched for new versions.
func TestUpdates(t *testing.T) {
	var config struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directory   string
			Directories []string
		}
	}
	locktest.OK(t, yaml.Unmarshal([]byte(read(t, ".github/dependabot.yml")), &config))
	watched := map[string]bool{}
	for _, update := range config.Updates {
		for _, dir := range append(update.Directories, update.Directory) {
			watched[update.Ecosystem+" "+dir] = dir != ""
		}
	}
	for file, ecosystem := range map[string]string{"go.mod": "gomod", "package.json": "npm", "Dockerfile": "docker", "dependabot.yml": "github-actions"} {
		found := false
		files(t, "", file, func(name, _ string) {
			if path.Base(name) != file || strings.HasPrefix(name, "bin/") {
				return
			}
			found = true
			dir := path.Join("/", path.Dir(name))
			if file == "dependabot.yml" {
				dir = "/"
			}
			if !watched[ecosystem+" "+dir] {
				t.Errorf("dependabot.yml does not watch %s", name)
			}
		})
		if !found {
			t.Errorf("found no %s", file)
		}
	}
}
