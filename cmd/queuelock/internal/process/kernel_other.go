//go:build unix && !linux

package process

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// Limits is for help texts: what is not ended here.
const Limits = "Not ended with queuelock here: processes that leave the group of COMMAND, as by setsid."

func seesOrphans() bool { return false }

func program() (string, error) { return os.Executable() }

func disguise(string) {}

func adopt() error { return errors.ErrUnsupported }

func dieWithParent(*syscall.SysProcAttr) {}

// descendants is empty: the process group is all that is known here.
func descendants(int) []member { return nil }

func clock() time.Duration { return time.Duration(time.Now().UnixNano()) }
