package engine

import (
	"strings"
	"testing"
)

// TestMissing names the package of a server that is not installed.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", "")
	for name, server := range map[string]Server{"zookeeper": ZooKeeper, "redis-server": Redis} {
		if _, err := server.Find(); err == nil || !strings.Contains(err.Error(), "package "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
