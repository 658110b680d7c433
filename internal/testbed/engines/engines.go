package engines

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The names of the engines, as tests see them and as QUEUELOCK_ENGINES lists them.
const (
	Embedded      = "embedded"
	Dynoxide      = "dynoxide"
	DynamoDBLocal = "dynamodb-local"
	Endpoint      = "endpoint"
)

const (
	listVariable     = "QUEUELOCK_ENGINES"
	endpointVariable = "QUEUELOCK_TEST_ENDPOINT"
)

// An Engine is something that speaks DynamoDB's protocol. Its methods may be called from several goroutines.
type Engine struct {
	Name string

	required bool // QUEUELOCK_ENGINES names it: missing is a failure, not a skip
}

// backends are the engines of this process, each at most once.
var backends = map[string]func() (*running, error){
	Embedded:      once(openEmbedded),
	Dynoxide:      once(openDynoxide),
	DynamoDBLocal: once(openDynamoDBLocal),
	Endpoint:      once(openEndpoint),
}

// All returns the engines that the suites run on, in a fixed order, without starting any: see the package's
// description. A name in QUEUELOCK_ENGINES that no engine has fails the test.
func All(t testing.TB) []Engine {
	t.Helper()
	engines, err := choose(os.Getenv(listVariable), os.Getenv(endpointVariable))
	if err != nil {
		t.Fatal(err)
	}
	return engines
}

// choose is All as a function of the two environment variables.
func choose(list, endpoint string) ([]Engine, error) {
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if backends[name] == nil {
			return nil, fmt.Errorf("%s names %q: the engines are %s, %s and %s",
				listVariable, name, Embedded, Dynoxide, DynamoDBLocal)
		}
		if name == Endpoint && endpoint == "" {
			return nil, fmt.Errorf("%s names %q, but %s is not set", listVariable, name, endpointVariable)
		}
		wanted[name] = true
	}
	everything := len(wanted) == 0
	if endpoint != "" {
		wanted[Endpoint] = true
	}

	var chosen []Engine
	for _, name := range []string{Embedded, Dynoxide, DynamoDBLocal, Endpoint} {
		if wanted[name] || everything && name != Endpoint {
			chosen = append(chosen, Engine{Name: name, required: wanted[name]})
		}
	}
	return chosen, nil
}

// Each runs f as a subtest for each of All, named after the engine, with the engine running. f may call t.Parallel.
func Each(t *testing.T, f func(t *testing.T, e Engine)) {
	t.Helper()
	for _, e := range All(t) {
		t.Run(e.Name, func(t *testing.T) {
			e.start(t)
			f(t, e)
		})
	}
}

// Client returns a new client of the engine, starting it if it is not running. The options are applied last; one that
// sets HTTPClient should wrap the one it finds, which is what leads to the engine.
func (e Engine) Client(t testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	t.Helper()
	return e.start(t).client(optFns...)
}

// start returns the running engine. One that is not installed skips the test, or fails it when it was asked for; one
// that does not start fails it.
func (e Engine) start(t testing.TB) *running {
	t.Helper()
	r, err := backends[e.Name]()
	switch {
	case err == nil:
	case isMissing(err) && !e.required:
		t.Skipf("%s left out: %v", e.Name, err)
	default:
		t.Fatalf("%s: %v", e.Name, err)
	}
	return r
}

// Main wraps a test binary's m, to stop the engines that its tests started once they are done:
//
//	func TestMain(m *testing.M) { os.Exit(engines.Main(m).Run()) }
//
// or, where tests may have other modules, with a check for goroutines: goleak.VerifyTestMain(engines.Main(m)).
func Main(m *testing.M) Runner { return Runner{m} }

// A Runner runs a binary's tests, and then stops the engines.
type Runner struct{ m *testing.M }

// Run returns the exit code of the tests.
func (r Runner) Run() int {
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		for _, stop := range stops {
			stop()
		}
	}()
	return r.m.Run()
}
