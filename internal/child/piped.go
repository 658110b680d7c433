package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
)

// Piped is a child at the other end of two pipes. Each side writes messages, a line of JSON each.
type Piped struct {
	*Child
	stdin, stdout *os.File
}

// StartPiped starts a child, whose command has no standard input and output yet. Follow must be called. On failure
// nothing is left open.
func StartPiped(cmd *exec.Cmd) (*Piped, error) {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inRead.Close(), inWrite.Close())
	}
	cmd.Stdin, cmd.Stdout = inRead, outWrite
	c, err := Start(cmd)
	_, _ = inRead.Close(), outWrite.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(err, inWrite.Close(), outRead.Close())
	}
	return &Piped{c, inWrite, outRead}, nil
}

// Send writes a message to the child.
func (p *Piped) Send(message any) error {
	line, err := json.Marshal(message)
	if err == nil {
		_, err = p.stdin.Write(append(line, '\n'))
	}
	return err
}

// Follow passes each line that the child writes to read, until that returns false, and then waits until the child is
// gone.
func (p *Piped) Follow(read func(line []byte) bool) {
	defer p.stdout.Close()
	lines := bufio.NewScanner(p.stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && read(lines.Bytes()) {
	}
	<-p.Exited()
}

// Dismiss ends the child's standard input, at which a worker ends.
func (p *Piped) Dismiss() { _ = p.stdin.Close() }
