package queuelock_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/engines"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(engines.Main(m)) }
