// Package engine starts the servers that subjects use: dynoxide, which speaks DynamoDB's
// protocol, and each [Server]. Each is a process of its own, bound to the loopback address,
// and ends with the benchmark.
package engine

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/queuelock/queuelock/internal/child"
)

// startLimit bounds how long an engine may take until it answers.
const startLimit = 60 * time.Second

// Engine is a server that runs.
type Engine struct {
	Address string // host:port
	child   *child.Child
}

// Stop kills the engine, which has nothing to save, and waits until it is gone.
func (e *Engine) Stop() {
	_ = e.child.Signal(syscall.SIGKILL)
	<-e.child.Exited()
}

// StartDynoxide starts dynoxide with all its tables in memory.
func StartDynoxide(ctx context.Context, binary string) (*Engine, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	return start(ctx, exec.Command(binary, "--host", "127.0.0.1", "--port", port), address, func() error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address, strings.NewReader("{}"))
		if err != nil {
			return err
		}
		request.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		return err
	})
}

// start starts a command and waits until ready returns nil.
func start(ctx context.Context, command *exec.Cmd, address string, ready func() error) (*Engine, error) {
	started, err := child.Start(command)
	if err != nil {
		return nil, err
	}
	e := &Engine{address, started}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := ready()
		if err == nil {
			return e, nil
		}
		select {
		case <-started.Exited():
			return nil, fmt.Errorf("%s ended before it was ready: %v", command.Path, started.State())
		case <-ctx.Done():
			e.Stop()
			return nil, fmt.Errorf("%s is not ready: %w", command.Path, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
