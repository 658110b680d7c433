// Package imports_test tests what the packages of the library import, and that each
// imports only packages below it.
package imports_test

import (
	"os"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestMain runs the tests in the root of the repository, whose files they read.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	locktest.Main(m)
}
