package crew

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/queuelock/queuelock/internal/workload/turns"
)

// Post is a worker process's end of the pipes.
type Post struct {
	// Usage, if set, is what the process has used so far, for each record. It is
	// called under a mutex.
	Usage func() turns.Usage

	in *bufio.Reader

	mu  sync.Mutex
	out *json.Encoder // guarded by mu
	err error         // guarded by mu; of the first line that could not be written
}

// NewPost makes the Post of a worker on its standard input and output.
func NewPost(in io.Reader, out io.Writer) *Post {
	return &Post{in: bufio.NewReader(in), out: json.NewEncoder(out)}
}

// Read waits for the next message from the supervisor. Its error is io.EOF if there are no more.
func (p *Post) Read(into any) error {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}

// Attended returns a context that ends with the supervisor's end of the pipe. No
// messages are read after it.
func (p *Post) Attended(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = p.in.ReadByte()
		cancel(errors.New("the supervisor has ended"))
	}()
	return ctx, cancel
}

// Report writes a record, with the time unless it has one. Those of one process
// are in order.
func (p *Post) Report(r turns.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.At == 0 {
		r.At = turns.Now()
	}
	if p.Usage != nil {
		r.Usage = p.Usage()
	}
	p.write(r)
}

// Write writes a message that is no record.
func (p *Post) Write(message any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(message)
}

// write writes a line. It is called under the mutex.
func (p *Post) write(message any) {
	if err := p.out.Encode(message); err != nil && p.err == nil {
		p.err = err
	}
}

// Err returns the error of the first line that could not be written.
func (p *Post) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
