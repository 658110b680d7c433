package engines

import "testing"

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
