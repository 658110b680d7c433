package wake

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"sync"
)

// thisHost names the host whose loopback address this process uses. A host that is started again has another name, and
// so has a container with a network of its own. Where the system has neither, its host name must do.
var thisHost = sync.OnceValue(func() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	network, _ := os.Readlink("/proc/self/ns/net")
	name := ""
	if len(boot) == 0 || network == "" {
		name, _ = os.Hostname()
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{"queuelock host 1", string(boot), network, name}, "\x00")))
	return hex.EncodeToString(sum[:8])
})
