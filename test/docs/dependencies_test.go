package docs_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestDependencies compares docs/dependencies.md with each go.mod: every direct dependency
// is in the section of its file, with a reason, and no other. What the library depends on, and the library, need no
// row in other sections.
func TestDependencies(t *testing.T) {
	page := readPage(t, "docs/dependencies.md")
	found, known := 0, append(dependencies(t, page, "go.mod"), module)
	files(t, "", "go.mod", func(name, _ string) {
		found++
		out, err := exec.Command("go", "mod", "edit", "-json", filepath.Join(root, name)).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var mod struct {
			Require []struct {
				Path     string
				Indirect bool
			}
		}
		locktest.OK(t, json.Unmarshal(out, &mod))
		listed := dependencies(t, page, name)
		for _, m := range mod.Require {
			at := slices.Index(listed, m.Path)
			switch {
			case m.Indirect, at < 0 && name != "go.mod" && slices.Contains(known, m.Path):
			case at < 0:
				t.Errorf("%s: section %q does not list %s", page.name, name, m.Path)
			default:
				listed = slices.Delete(listed, at, at+1)
			}
		}
		if len(listed) > 0 {
			t.Errorf("%s: section %q lists %q, which are no direct dependencies", page.name, name, listed)
		}
	})
	if found < 2 {
		t.Errorf("found %d go.mod", found)
	}
}

// TestLeastSDK compares the least version of the SDK, as the page has it, with go.mod.
func TestLeastSDK(t *testing.T) {
	least := regexp.MustCompile("`service/dynamodb` must be at least (v[0-9.]+[0-9])").FindStringSubmatch(read(t, "docs/dependencies.md"))
	required := regexp.MustCompile(`(?m)service/dynamodb (v[0-9.]+)$`).FindStringSubmatch(read(t, "go.mod"))
	number := func(version string) (n int) {
		var major, minor, patch int
		locktest.Must(fmt.Sscanf(version, "v%d.%d.%d", &major, &minor, &patch))
		return (major*1000+minor)*1000 + patch
	}
	if least == nil || required == nil || number(required[1]) < number(least[1]) {
		t.Errorf("the page requires %q, go.mod %q", least, required)
	}
}

// dependencies returns the modules of a section of the page.
func dependencies(t *testing.T, p page, section string) (modules []string) {
	t.Helper()
	inside := false
	for i, line := range p.lines {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			inside = heading == section
		}
		cells := strings.Split(line, "|")
		if !inside || len(cells) != 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		if strings.TrimSpace(cells[2]) == "" || strings.TrimSpace(cells[3]) == "" {
			t.Errorf("%s:%d has no reason", p.name, i+1)
		}
		modules = append(modules, strings.Trim(cells[1], " `"))
	}
	return modules
}
