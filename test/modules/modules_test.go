package modules_test

import (
	"archive/zip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLibrary builds README's program as a user does.
func TestLibrary(t *testing.T) {
	t.Parallel()
	u := module(t, snippet(t, "go"))
	u.run(install(t, "go get ")...)
	u.run("go", "mod", "tidy")
	u.run("go", "build", "./...")
	u.run("go", "vet", "./...")
	if got := u.modules()[library]; got != version {
		t.Errorf("the library has version %q, want %q", got, version)
	}
}

// TestCommand installs the command as README has it, which fails if its go.mod replaces a module, and runs it.
func TestCommand(t *testing.T) {
	t.Parallel()
	u := machine{t, t.TempDir()}
	u.run(install(t, "go install ")...)
	program := filepath.Join(u.run("go", "env", "GOBIN"), "queuelock")
	if got := u.run(program, "version"); !strings.HasPrefix(got, "queuelock "+version+" go") {
		t.Errorf("queuelock version: %q, want version %s", got, version)
	}
	if got := u.run(program, "--help"); !strings.Contains(got, "queuelock run") {
		t.Errorf("queuelock --help: %q", got)
	}
}

// TestOtel builds a program that exports telemetry. What it links of the library is the published version.
func TestOtel(t *testing.T) {
	t.Parallel()
	u := module(t, `package main

import (
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/otelqueuelock"
)

func main() {
	db := dynamodb.New(dynamodb.Options{}, otelqueuelock.Instrument())
	if _, err := queuelock.New(db, "queuelock", queuelock.Config{Observer: otelqueuelock.New()}); err != nil {
		log.Fatal(err)
	}
}
`)
	u.run("go", "get", otel)
	u.run("go", "mod", "tidy")
	u.run("go", "build", "-o", "program", ".")
	u.run("./program")
	modules := u.modules()
	for _, path := range []string{library, otel} {
		if modules[path] != version {
			t.Errorf("%s has version %q, want %q", path, modules[path], version)
		}
	}
	for path, want := range map[string]bool{"go.opentelemetry.io/otel": true, "charm.land/bubbletea/v2": false} {
		if _, found := modules[path]; found != want {
			t.Errorf("%s is needed: %t, want %t", path, found, want)
		}
	}
}

// TestPacked reads what the go command packed: each module has the licence, and the library has nothing of what its
// users do not need.
func TestPacked(t *testing.T) {
	for _, path := range []string{library, command, otel} {
		archive, err := zip.OpenReader(filepath.Join(proxy, path, "@v", version+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		defer archive.Close()
		top := map[string]bool{} // names at the top of the module
		for _, f := range archive.File {
			name, _, _ := strings.Cut(strings.TrimPrefix(f.Name, path+"@"+version+"/"), "/")
			top[name] = true
		}
		if !top["LICENSE"] || !top["go.mod"] {
			t.Errorf("%s is packed without a licence or a go.mod", path)
		}
		for _, other := range []string{"bench", "cmd", "otelqueuelock", "test"} {
			if top[other] {
				t.Errorf("%s is packed with %s, which is to be a module of its own", path, other)
			}
		}
	}
}

// A machine is a directory in which a user works.
type machine struct {
	t   *testing.T
	dir string
}

// module returns a machine with a new module of one program.
func module(t *testing.T, program string) machine {
	t.Helper()
	u := machine{t, t.TempDir()}
	u.run("go", "mod", "init", "example.com/user")
	if err := os.WriteFile(filepath.Join(u.dir, "main.go"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	return u
}

// run runs a command of the user and returns its output.
func (u machine) run(words ...string) string {
	u.t.Helper()
	return run(u.t, u.dir, words...)
}

// modules returns the version of each module in the build list.
func (u machine) modules() map[string]string {
	u.t.Helper()
	versions := map[string]string{}
	for line := range strings.Lines(u.run("go", "list", "-m", "all")) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		versions[path] = version
	}
	return versions
}

func run(t *testing.T, dir string, words ...string) string {
	t.Helper()
	out, err := output(dir, user, words[0], words[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// install returns the words of the command in README.md that begins so.
func install(t *testing.T, start string) []string {
	t.Helper()
	for line := range strings.Lines(snippet(t, "sh")) {
		if strings.HasPrefix(line, start) {
			line, _, _ = strings.Cut(line, "#")
			return strings.Fields(line)
		}
	}
	t.Fatalf("README.md has no %q", start)
	return nil
}

// snippet returns the first block of README.md in a language.
func snippet(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatalf("README.md has no block of %s", language)
	}
	return string(block[1])
}
