package docs_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// goIn runs the Go command as a program that requires a module would: without go.work.
func goIn(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = folder, append(cmd.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// TestRequirements checks that a program which imports the library has no other modules in its build list than those that the
// library links.
func TestRequirements(t *testing.T) {
	modules := strings.Fields(goIn(t, root, "list", "-m", "-f", "{{.Path}}", "all"))
	if len(modules) < 10 {
		t.Fatalf("go list found only %q", modules)
	}
	for _, m := range modules {
		if m != module && !isAllowed(m) {
			t.Errorf("the library's module requires %s", m)
		}
	}
}

// TestCommand checks that the command links nothing that is for tests only, and that its go.mod has nothing for which
// "go install …@version" would refuse it: a replacement, or a module of this repository that has no version.
func TestCommand(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "./cmd/queuelock")
	list.Dir = root
	packages := strings.Fields(string(locktest.Must(list.Output())))
	if !slices.Contains(packages, module+"/queue") {
		t.Fatalf("go list found only %q", packages)
	}
	forTests := regexp.MustCompile(`^` + regexp.QuoteMeta(module) + `/(internal/testbed|queuelocktest|test|bench)(/|$)|^testing(/|$)`)
	for _, p := range packages {
		if forTests.MatchString(p) {
			t.Errorf("the command links %s", p)
		}
	}
	for line := range strings.Lines(read(t, "cmd/queuelock/go.mod")) {
		if slices.ContainsFunc(strings.Fields(line), forTests.MatchString) || strings.HasPrefix(line, "replace") || strings.HasPrefix(line, "exclude") {
			t.Errorf("cmd/queuelock/go.mod has %s", line)
		}
	}
}

// TestDependencies finds in each go.mod the reason for each module that it requires directly.
func TestDependencies(t *testing.T) {
	required := regexp.MustCompile(`(?m)^(?:require |\t)(\S+\.\S+/\S+) v\S+(.*)$`)
	found := 0
	files(t, "", "go.mod", func(name, text string) {
		for _, m := range required.FindAllStringSubmatch(text, -1) {
			found++
			if reason, ok := strings.CutPrefix(m[2], " // "); !ok || len(reason) < 10 && reason != "indirect" {
				t.Errorf("%s requires %s without a reason", name, m[1])
			}
		}
	})
	if found < 50 {
		t.Errorf("found %d requirements", found)
	}
}
