package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/child"
)

// startLimit bounds how long an engine may take until it answers: a Java machine beside a compiler on two busy cores.
const startLimit = 60 * time.Second

// A process is a child that ends, at the latest, when this process does.
type process struct {
	*child.Child
	stdin  io.Closer // held open: DynamoDB Local ends when it closes
	output *os.File  // both streams, for the message when something goes wrong
}

// launch starts the command.
func launch(cmd *exec.Cmd) (*process, error) {
	output, err := os.CreateTemp("", "queuelock-engine-*.log")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(output.Name()) // it stays readable through the handle, and nothing is left behind
	cmd.Stdout, cmd.Stderr = output, output
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, output.Close())
	}
	started, err := child.Start(cmd)
	if err != nil {
		return nil, errors.Join(err, output.Close())
	}
	return &process{Child: started, stdin: stdin, output: output}, nil
}

// stop kills the child, which has nothing to save, and waits until it is gone.
func (p *process) stop() {
	_ = p.Signal(syscall.SIGKILL)
	<-p.Exited()
	_ = p.stdin.Close()
	_ = p.output.Close()
}

// log returns what the child has printed so far.
func (p *process) log() string {
	text, err := io.ReadAll(io.NewSectionReader(p.output, 0, math.MaxInt64))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// await polls ready until it returns nil, the child is gone, or startLimit is over; then it says what the child printed.
func (p *process) await(ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.Exited():
			return fmt.Errorf("ended before it was ready (%v); it printed:\n%s", p.State(), p.log())
		case <-ctx.Done():
			return fmt.Errorf("not ready after %v: %w; it printed:\n%s", startLimit, err, p.log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// serve makes a running engine of the child once it answers a ListTables at baseURL; otherwise it stops the child.
func (p *process) serve(baseURL string) (*running, error) {
	httpClient, closeIdle := loopbackTransport()
	r := &running{options: emulator(baseURL, httpClient)}
	r.stop = func() {
		closeIdle()
		p.stop()
	}
	once := r.client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	if err := p.await(func(ctx context.Context) error {
		_, err := once.ListTables(ctx, &dynamodb.ListTablesInput{})
		return err
	}); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}
