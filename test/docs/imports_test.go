package docs_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// floors are the packages of the library, from the facade down: each imports only those below it. What a package may
// import of the outside is the same for all.
var floors = []string{
	"optimistic",
	"httplock",
	"once",
	"",
	"internal/oncecall",
	"internal/multilock",
	"internal/play",
	"internal/listing",
	"internal/handover",
	"internal/requests",
	"internal/counter",
	"internal/itemkey",
	"internal/notify",
	"internal/table",
	"event",
	"sweeper",
	"heartbeat",
	"waitpolicy",
	"internal/load",
	"internal/member",
	"internal/machine",
	"queue",
	"ticket",
	"internal/callback",
	"internal/group",
	"internal/retry",
	"failfast",
	"wake",
	"internal/planted",
	"internal/attr",
	"clause",
	"internal/random",
	"internal/quote",
}

var allowed = []string{
	"github.com/aws/aws-sdk-go-v2",
	"github.com/aws/smithy-go",
	"github.com/cenkalti/backoff/v4",
}

// isAllowed reports whether the library may depend on a package or a module of others.
func isAllowed(path string) bool {
	return slices.ContainsFunc(allowed, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") })
}

// TestImports checks that packages import only packages below them, and those of a short list of modules, and that
// internal/retry alone has pauses.
func TestImports(t *testing.T) {
	for i, floor := range floors {
		for _, file := range goFiles(t, floor) {
			for _, path := range importsOf(t, file) {
				host, _, _ := strings.Cut(path, "/")
				rest, ours := strings.CutPrefix(path, module)
				switch {
				case ours && slices.Index(floors, strings.TrimPrefix(rest, "/")) <= i:
					t.Errorf("%s imports %s, which is not below it", file, path)
				case strings.HasPrefix(path, "github.com/cenkalti/backoff") && floor != "internal/retry":
					t.Errorf("%s has pauses of its own: it imports %s", file, path)
				case !ours && strings.Contains(host, ".") && !isAllowed(path):
					t.Errorf("%s imports %s", file, path)
				}
			}
		}
	}
}

// pure are the packages that send nothing, start nothing and have no clock. A reader of a write, and
// a program that searches what may happen, need only call them.
var pure = []string{"queue", "internal/machine", "ticket", "clause", "internal/attr", "internal/planted", "internal/quote"}

// TestPure checks that nothing in a pure package, and nothing of the library that it imports, can do more.
func TestPure(t *testing.T) {
	for _, floor := range pure {
		for _, file := range goFiles(t, floor) {
			for _, path := range importsOf(t, file) {
				first, _, _ := strings.Cut(path, "/")
				ours, isOurs := strings.CutPrefix(path, module+"/")
				switch {
				case slices.Contains([]string{"context", "sync", "net", "os", "log", "runtime", "syscall"}, first), strings.HasPrefix(path, "math/rand"),
					strings.HasSuffix(path, "/service/dynamodb"), isOurs && !slices.Contains(pure, ours):
					t.Errorf("%s imports %s", file, path)
				}
			}
			source := locktest.Must(os.ReadFile(file))
			for _, call := range []string{"time.Now(", "time.Since(", "time.Until(", "time.After(", "time.Sleep(", "go func"} {
				if strings.Contains(string(source), call) {
					t.Errorf("%s has %s", file, call)
				}
			}
		}
	}
}

// TestFacade checks that the facade has no expressions of DynamoDB's. The types of transactions are part of its
// interface, as are the SDK client's methods, in table.go, and the builders that UpdateAndRelease takes.
func TestFacade(t *testing.T) {
	for _, file := range goFiles(t, ".") {
		for _, path := range importsOf(t, file) {
			if strings.Contains(path, "aws-sdk-go-v2") && !strings.HasSuffix(path, "/dynamodb/types") &&
				(filepath.Base(file) != "table.go" || !strings.HasSuffix(path, "/service/dynamodb")) &&
				(filepath.Base(file) != "itemlock.go" || !strings.HasSuffix(path, "/dynamodb/expression")) {
				t.Errorf("%s imports %s", file, path)
			}
		}
	}
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	source := locktest.Must(os.ReadFile(file))
	parsed := locktest.Must(parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly))
	var paths []string
	for _, spec := range parsed.Imports {
		path := locktest.Must(strconv.Unquote(spec.Path.Value))
		paths = append(paths, path)
	}
	return paths
}
