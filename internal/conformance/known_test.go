package conformance

import (
	"strings"
	"sync"
	"testing"

	"github.com/queuelock/queuelock/internal/engines"
)

// A difference is one known way in which an engine does not do what DynamoDB does.
type difference struct {
	engine string
	check  string // topic and property, as in the test's name
	says   string // is part of every failure that the check then reports
	why    string // what the engine does instead
}

// differences of the engines that are not ours. The embedded engine must do what DynamoDB does.
var differences = []difference{}

var (
	metLock sync.Mutex
	met     = map[difference]bool{}
	ranOn   = map[string]bool{}
)

// settle judges the outcome of a check: it must have passed, or on an engine with a known difference there, failed in
// the known way.
func settle(t *testing.T, engine, check string, failures []string) {
	t.Helper()
	metLock.Lock()
	ranOn[engine] = true
	metLock.Unlock()

	known, ok := find(engine, check)
	if !ok {
		for _, failure := range failures {
			t.Error(failure)
		}
		return
	}
	metLock.Lock()
	met[known] = true
	metLock.Unlock()

	if len(failures) == 0 {
		t.Errorf("%s does what DynamoDB does here by now: remove the known difference %q (%s)", engine, check, known.why)
		return
	}
	for _, failure := range failures {
		if strings.Contains(failure, known.says) {
			t.Logf("known difference: %s: %s", known.why, failure)
		} else {
			t.Errorf("not the known difference (%s), whose failures say %q: %s", known.why, known.says, failure)
		}
	}
}

func find(engine, check string) (difference, bool) {
	for _, d := range differences {
		if d.engine == engine && d.check == check {
			return d, true
		}
	}
	return difference{}, false
}

// unmet returns the differences of engines that ran whose check did not.
func unmet() []difference {
	metLock.Lock()
	defer metLock.Unlock()
	var none []difference
	for _, d := range differences {
		if ranOn[d.engine] && !met[d] {
			none = append(none, d)
		}
	}
	return none
}

func TestKnownDifferencesAreOfOtherPeoplesEngines(t *testing.T) {
	seen := map[[2]string]bool{}
	for _, d := range differences {
		if d.engine != engines.Dynoxide && d.engine != engines.DynamoDBLocal {
			t.Errorf("%s: %s: only the engines that are not ours may differ", d.engine, d.check)
		}
		if d.says == "" || d.why == "" {
			t.Errorf("%s: %s: say what its failure says, and what the engine does", d.engine, d.check)
		}
		if key := [2]string{d.engine, d.check}; seen[key] {
			t.Errorf("%s: %s: is there twice", d.engine, d.check)
		} else {
			seen[key] = true
		}
	}
}
