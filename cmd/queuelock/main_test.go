package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/process"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// asProgram makes the test binary be the program, for tests that need it as a
// process of its own, and for the demo's workers.
const asProgram = "QUEUELOCK_TEST_AS_PROGRAM"

// testLimit ends a test that waits for what does not happen.
const testLimit = 30 * time.Second

func TestMain(m *testing.M) {
	locktest.SmallTickets()
	switch {
	case os.Getenv(asProgram) != "", len(os.Args) > 1 && os.Args[1] == process.Name:
		main()
		os.Exit(0) // which main has not: the tests would run
	case len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-"):
		// A command, of a worker that is to fail, or whose environment is lost.
		// The tests must not be run in its place, as they would start more of its kind.
		os.Exit(3)
	}
	// The tests in parallel mostly wait, for processes and for leases.
	flag.Parse()
	if err := errors.Join(isolate(), flag.Set("test.parallel", "4")); err != nil {
		panic(err)
	}
	if signal.Ignored(syscall.SIGHUP) { // by nohup: the programs that tests start would ignore it too
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	goleak.VerifyTestMain(m)
}

// set sets variables, such as NAME=value, for the time of the test.
func set(t *testing.T, variables ...string) {
	t.Helper()
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
}

// contains checks that a text contains each of the parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// shorten sets a limit for the time of the test.
func shorten(t *testing.T, limit *time.Duration, d time.Duration) {
	t.Helper()
	usual := *limit
	*limit = d
	t.Cleanup(func() { *limit = usual })
}

// engine is an embedded engine on loopback whose requests a test can watch and stop.
type engine struct {
	*httptest.Server
	after   atomic.Pointer[func(operation string)]                        // called when a request was applied
	instead atomic.Pointer[func(http.ResponseWriter, *http.Request) bool] // answers a request, and returns true
	stuck   chan struct{}                                                 // once closed, no request is answered any more
	asked   chan struct{}                                                 // gets a value for a request that is not answered, if it has room
	db      *database
	env     []string // of the processes of the test
}

// newEngine starts an engine with the table "queuelock", to which the environment leads for the time of the test.
func newEngine(t *testing.T) *engine {
	t.Helper()
	e := newServer(t)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", e.URL)
	return e
}

// inParallel is newEngine for a test in parallel with others. Only the environment of its processes
// leads to the engine.
func inParallel(t *testing.T) *engine {
	t.Helper()
	t.Parallel()
	return newServer(t)
}

func newServer(t *testing.T) *engine {
	t.Helper()
	e := &engine{stuck: make(chan struct{}), asked: make(chan struct{}, 1)}
	tables := embedded.New(embedded.Config{})
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := e.instead.Load(); answer != nil && (*answer)(w, r) {
			return
		}
		select {
		case <-e.stuck:
			// The body must be read for the server to notice that the client
			// has gone.
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case e.asked <- struct{}{}:
			default:
			}
			<-r.Context().Done()
		default:
			tables.ServeHTTP(w, r)
			_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
			if after := e.after.Load(); after != nil {
				(*after)(operation)
			}
		}
	}))
	t.Cleanup(e.Close)
	e.env = []string{"AWS_ENDPOINT_URL_DYNAMODB=" + e.URL}
	e.db = connectLocal(e.URL)
	t.Cleanup(e.db.close)
	locktest.OK(t, createTable(t.Context(), e.db, "queuelock"))
	return e
}

// isolate keeps the settings of the user out of the tests.
func isolate() error {
	for _, setting := range os.Environ() {
		if name, _, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "QUEUELOCK_") && name != asProgram {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	return errors.Join(
		os.Setenv("AWS_CONFIG_FILE", "/nonexistent"),
		os.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent"),
		os.Setenv("AWS_EC2_METADATA_DISABLED", "true"),
		// With the race detector, each process would wait for a second at its end.
		os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")),
	)
}

// client is a client of the library's own, beside the command line.
func (e *engine) client(t *testing.T) *queuelock.Client {
	t.Helper()
	return e.with(t, queuelock.Config{Owner: "other owner"})
}

func (e *engine) with(t *testing.T, cfg queuelock.Config) *queuelock.Client {
	t.Helper()
	c := locktest.Must(queuelock.New(e.db, "queuelock", cfg))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testLimit)
		defer cancel()
		locktest.Check(t, c.Close(ctx))
	})
	return c
}

// put writes an item of a queue, as another program may. Number zero is the record.
func (e *engine) put(t *testing.T, key queuelock.Key, n uint64, item map[string]types.AttributeValue) {
	t.Helper()
	maps.Copy(item, itemKey(key, n))
	locktest.Must(e.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("queuelock"), Item: item}))
}

func itemKey(key queuelock.Key, n uint64) map[string]types.AttributeValue {
	sort := key.Reason + "/" + ticket.FromUint64(n).Padded()
	return map[string]types.AttributeValue{"pk": text(key.Entity), "sk": text(sort)}
}

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// onApplied calls f from now on when a request was applied, in place of an earlier function.
func (e *engine) onApplied(f func(operation string)) { e.after.Store(&f) }

// puts reports each PutItem from now on, which is that of a row in a queue.
func (e *engine) puts() <-chan struct{} { return e.applied("PutItem") }

// applied reports each such operation from now on.
func (e *engine) applied(operation string) <-chan struct{} {
	applied := make(chan struct{}, 4096)
	e.onApplied(func(o string) {
		if o == operation {
			applied <- struct{}{}
		}
	})
	return applied
}

// state is what the table says of an entity.
func (e *engine) state(t *testing.T, entity string) *queue.State {
	t.Helper()
	return locktest.Must(e.client(t).Viewer().Inspect(t.Context(), queuelock.Key{Entity: entity}))
}

// occupied holds an entity's lock until the end of the test, without heartbeats: no test takes twenty minutes.
func (e *engine) occupied(t *testing.T, entity string, opts ...queuelock.AcquireOption) *queuelock.Lock {
	t.Helper()
	c, key := e.client(t), queuelock.Key{Entity: entity}
	locktest.Must(c.Viewer().Inspect(t.Context(), key)) // else the lease has no end, and is renewed within a second
	return locktest.Must(c.Acquire(t.Context(), key, waitpolicy.NoWait, append(opts, queuelock.WithTTL(time.Hour))...))
}

// mustBeIdle fails the test unless there is no holder and no waiter.
func (e *engine) mustBeIdle(t *testing.T, entity string) {
	t.Helper()
	e.mustHave(t, entity, 0, 0)
}

// mustHave checks how many hold the lock of an entity, and how many wait.
func (e *engine) mustHave(t *testing.T, entity string, served, waiting int) {
	t.Helper()
	if s := e.state(t, entity); len(s.Serving) != served || len(s.Waiting) != waiting {
		t.Errorf("%d served, %d waiting; want %d and %d", len(s.Serving), len(s.Waiting), served, waiting)
	}
}

// outcome is what became of an invocation.
type outcome struct {
	code           int
	stdout, stderr string
}

// ends checks the exit code, and that standard error contains each of the parts.
func (o outcome) ends(t *testing.T, code int, parts ...string) {
	t.Helper()
	for _, part := range append(parts, "") {
		if o.code != code || !strings.Contains(o.stderr, part) {
			t.Errorf("%+v, want exit code %d and %q", o, code, part)
		}
	}
}

// silent checks the exit code, and that nothing is on standard error.
func (o outcome) silent(t *testing.T, code int) {
	t.Helper()
	if o.code != code || o.stderr != "" {
		t.Errorf("%+v, want exit code %d alone", o, code)
	}
}

// object returns the JSON that an invocation has printed.
func object[T any](t *testing.T, o outcome) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), &value); err != nil || o.code != 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	return value
}

// shows checks the exit code, and that standard output contains each of the parts.
func (o outcome) shows(t *testing.T, code int, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if o.code != code || !strings.Contains(o.stdout, part) {
			t.Errorf("%+v, want exit code %d and %q", o, code, part)
		}
	}
}

// matches checks the exit code, and that each output matches its pattern, or is empty if the pattern is.
func (o outcome) matches(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	fits := func(text, pattern string) bool {
		return (text == "" || pattern != "") && regexp.MustCompile("(?s)"+pattern).MatchString(text)
	}
	if o.code != code || !fits(o.stdout, stdout) || !fits(o.stderr, stderr) {
		t.Errorf("%+v, want exit code %d, %q and %q", o, code, stdout, stderr)
	}
}

// prints checks the exit code and standard output.
func (o outcome) prints(t *testing.T, code int, stdout string) {
	t.Helper()
	if o.code != code || o.stdout != stdout {
		t.Errorf("%+v, want exit code %d and %q", o, code, stdout)
	}
}

// invoke runs the program in this process.
func invoke(t *testing.T, args ...string) outcome {
	t.Helper()
	return answer(t, "", args...)
}

// answer is invoke with that standard input.
func answer(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	var stdout, stderr output
	code := run(ctx, args, strings.NewReader(stdin), &stdout, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

// output keeps what is written to it. The program and its command may write at the same time, as to a file.
type output struct {
	mu   sync.Mutex
	text []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

// background is the program in this process, with output that can be read while it runs.
type background struct {
	out  *os.File // what it, or what it has started, writes to standard output
	done chan outcome
}

// start runs the program in this process, beside the test. Its output is a pipe, which
// ends when every process with its write end has ended.
func start(t *testing.T, ctx context.Context, args ...string) *background {
	t.Helper()
	out, write := pipe(t)
	b := &background{out: out, done: make(chan outcome, 1)}
	// Files, as in earnest: a command's pipes would be waited for.
	stderr := locktest.Must(os.Create(filepath.Join(t.TempDir(), "stderr")))
	go func() {
		code := run(ctx, args, strings.NewReader(""), write, stderr)
		write.Close()
		stderr.Close()
		text, _ := os.ReadFile(stderr.Name())
		b.done <- outcome{code: code, stderr: string(text)}
	}()
	return b
}

// running starts a run of x with the flags and a text for the shell, and returns once that has said that it is ready.
func running(t *testing.T, text string, flags ...string) *background {
	t.Helper()
	b := start(t, t.Context(), append(append([]string{"run", "x"}, flags...), "-c", text)...)
	b.expect(t, "ready")
	return b
}

// expect reads output until it contains the text.
func (b *background) expect(t *testing.T, text string) string {
	t.Helper()
	return expect(t, b.out, text)
}

func expect(t *testing.T, r io.Reader, text string) string {
	t.Helper()
	var seen []byte
	for !strings.Contains(string(seen), text) {
		one := make([]byte, 1)
		if _, err := r.Read(one); err != nil {
			t.Fatalf("output %q, then %v: want %q", seen, err, text)
		}
		seen = append(seen, one[0])
	}
	return string(seen)
}

// wait waits for the program's end.
func (b *background) wait(t *testing.T) outcome {
	t.Helper()
	select {
	case o := <-b.done:
		return o
	case <-time.After(testLimit):
		t.Fatal("the program has not ended")
		return outcome{}
	}
}

// program is the program as a process of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	t.Cleanup(cancel)
	self := locktest.Must(os.Executable())
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// program is the program as a process of its own, with the engine.
func (e *engine) program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := program(t, args...)
	cmd.Env = append(cmd.Env, e.env...)
	return cmd
}
