// Package repository_test tests the repository itself: the documents against the
// code, and what the library imports.
package repository_test

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
