//go:build unix

package process

import (
	"encoding/json"
	"io"
	"syscall"
	"time"
)

// order is what the supervisor receives first. Arguments may have any bytes, which strings
// of JSON may not.
type order struct {
	Path       []byte
	Args, Env  [][]byte
	Leave      bool
	Foreground bool
	Grace      time.Duration
	Clock      time.Duration // the first until
}

// until is what it receives from then on: the instant on the host's clock at which it
// ends everything unless it has received a later one.
type until struct{ Clock time.Duration }

// report is what the supervisor sends.
type report struct {
	Started   int           `json:",omitempty"` // the command's process id
	Failed    syscall.Errno `json:",omitempty"` // it was not started
	Stopped   int           `json:",omitempty"` // by a signal
	Continued bool          `json:",omitempty"`
	Ended     bool          `json:",omitempty"` // the command alone
	Code      int           `json:",omitempty"` // of the command that has ended
	Expired   bool          `json:",omitempty"` // the supervisor kills, because the lease ends
	Done      bool          `json:",omitempty"` // the whole tree
}

// send writes a message in one call. The other side may be gone, which it notices
// otherwise.
func send(w io.Writer, message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// convert changes a list of strings to one of bytes, or back.
func convert[To, From ~string | ~[]byte](from []From) []To {
	to := make([]To, len(from))
	for i, f := range from {
		to[i] = To(f)
	}
	return to
}

// code is the exit code of a process as a shell gives it.
func code(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
