package modules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGoVersion finds that the library needs the Go version that go.mod says: code of it, or a module that it requires,
// is too new for the version before. "make test-oldest" finds that it needs no later one.
func TestGoVersion(t *testing.T) {
	list := func(arguments ...string) string {
		out, err := output(root, []string{"GOWORK=off"}, "go", append([]string{"list"}, arguments...)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	var minor int
	if _, err := fmt.Sscanf(list("-m", "-f", "{{.GoVersion}}"), "1.%d.0", &minor); err != nil {
		t.Fatalf("%v: want a version such as 1.26.0 in go.mod", err)
	}

	// A go.mod that says the version before.
	dir := t.TempDir()
	for name, change := range map[string]func(string) string{
		"go.mod": func(text string) string {
			return regexp.MustCompile(`(?m)^go .*$`).ReplaceAllString(text, fmt.Sprintf("go 1.%d.0", minor-1))
		},
		"go.sum": strings.Clone,
	} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(change(string(text))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	// The packages that a user can import, and those of the library that they import.
	public := regexp.MustCompile(`(?m)^`+library+`(/\w+)?$`).FindAllString(list("./..."), -1)
	used := strings.Fields(list(append([]string{"-deps", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}"}, public...)...))
	_, err := output(root, []string{"GOWORK=off"}, "go", append([]string{"vet", "-stdversion", "-modfile=" + filepath.Join(dir, "go.mod")}, used...)...)
	tooNew := regexp.MustCompile(fmt.Sprintf(`(?m)^(\S+\.go:\d+:\d+: .* requires go1\.%d or later|go: updates to go\.mod needed)`, minor))
	for _, found := range tooNew.FindAllString(fmt.Sprint(err), -1) {
		if !strings.Contains(found, "_test.go:") {
			t.Log(found)
			return
		}
	}
	t.Errorf("go.mod says Go 1.%d, and the library needs no more than 1.%d: %v", minor, minor-1, err)
}
