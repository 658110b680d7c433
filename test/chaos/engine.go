package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/child"
	"github.com/queuelock/queuelock/test/chaos/worker"
)

// engineLimit bounds how long an engine may take until it answers.
const engineLimit = 30 * time.Second

// engine is a process on a database file: dynoxide, or "queuelock local".
//
// dynoxide keeps the file in SQLite's WAL mode with a sync at each commit, so what
// it has answered to survives a SIGKILL: that does not even lose what the
// process wrote without a sync. What it keeps in memory alone is lost: the
// ClientRequestTokens of transactions (see package ledger). "queuelock local"
// keeps them as well.
type engine struct {
	binary, dir string
	local       bool // it is "queuelock local"
	port        int
	process     *child.Child
	started     []*child.Child
	output      *os.File
	transport   *http.Transport
	db          *dynamodb.Client // past the proxy
}

// Installed is the newest dynoxide that `make tools` has installed in a checkout: versions are in the names. Empty: none.
func Installed(checkout string) string {
	found, err := filepath.Glob(filepath.Join(checkout, ".tools/dynoxide-*/dynoxide"))
	if err != nil || len(found) == 0 {
		return ""
	}
	return slices.Max(found)
}

// openEngine starts an engine on a new file in dir, at a free port.
func openEngine(ctx context.Context, binary string, local bool, dir string) (*engine, error) {
	output, err := os.Create(filepath.Join(dir, "engine.log"))
	if err != nil {
		return nil, err
	}
	e := &engine{binary: binary, local: local, dir: dir, output: output, transport: &http.Transport{}}
	for attempt := 1; ; attempt++ {
		if e.port, err = freePort(); err != nil {
			return nil, errors.Join(err, output.Close())
		}
		e.db = client(e.url(), e.transport)
		// Another process may take the port in between; then another is tried.
		if err = e.start(ctx); err == nil {
			return e, nil
		}
		if attempt == 5 || ctx.Err() != nil {
			return nil, errors.Join(err, e.close())
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// client is an SDK client that looks at no settings.
func client(url string, transport *http.Transport) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "local", BaseEndpoint: aws.String(url), HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

// Worker is the life of a worker process at an endpoint. It ends by SIGTERM, and returns its exit code.
func Worker(endpoint string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	if worker.Work(ctx, client(endpoint, transport), os.Stdin, os.Stdout) != nil {
		return 1 // it was reported
	}
	return 0
}

func (e *engine) url() string { return "http://" + e.address() }

func (e *engine) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(e.port)) }

// start starts the process, and waits until it answers.
func (e *engine) start(ctx context.Context) error {
	port, file := strconv.Itoa(e.port), filepath.Join(e.dir, "engine.db")
	cmd := exec.Command(e.binary, "--host", "127.0.0.1", "--port", port, "--db-path", file)
	if e.local {
		cmd = exec.Command(e.binary, "local", "--port", port, "--file", file, "--create-table", "")
	}
	cmd.Stdout, cmd.Stderr = e.output, e.output
	process, err := child.Start(cmd)
	if err != nil {
		return fmt.Errorf("start the engine: %w", err)
	}
	e.process, e.started = process, append(e.started, process)
	ctx, cancel := context.WithTimeout(ctx, engineLimit)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		_, err := e.db.ListTables(ctx, &dynamodb.ListTablesInput{}, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
		if err == nil {
			return nil
		}
		select {
		case <-look.C:
		case <-process.Exited():
			return fmt.Errorf("the engine ended before it was ready: %v", process.State())
		case <-ctx.Done():
			return fmt.Errorf("the engine was not ready within %v: %w", engineLimit, err)
		}
	}
}

// kill kills the process, and waits until it is gone.
func (e *engine) kill() {
	_ = e.process.Signal(syscall.SIGKILL)
	<-e.process.Exited()
}

// close ends the engine. It is an error if something of it is left.
func (e *engine) close() error {
	e.transport.CloseIdleConnections()
	var errs []error
	for _, p := range e.started {
		_ = p.Signal(syscall.SIGKILL)
		<-p.Exited()
		if !p.Gone() {
			errs = append(errs, fmt.Errorf("processes of the engine's group %d are left", p.Pid()))
		}
	}
	return errors.Join(append(errs, e.output.Close())...)
}
