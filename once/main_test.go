package once_test

import (
	"os"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/engines"
)

func TestMain(m *testing.M) { os.Exit(engines.Main(m).Run()) }
