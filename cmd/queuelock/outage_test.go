package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// mustBeShort checks that an invocation failed with that code and one line of at most 160
// characters, without a name of the program's code, and printed nothing else.
func mustBeShort(t *testing.T, o outcome, code int, parts ...string) {
	t.Helper()
	if o.code != code || o.stdout != "" {
		t.Errorf("exit code %d, stdout %q; want %d and nothing", o.code, o.stdout, code)
	}
	line, rest, _ := strings.Cut(o.stderr, "\n")
	if n := utf8.RuneCountInString(line); rest != "" || n > maxLine || n < 20 || strings.HasSuffix(line, "…") {
		t.Errorf("stderr %q: want one whole line of at most %d characters", o.stderr, maxLine)
	}
	for _, word := range []string{"operation error", "inspect", "Config", "ScopeQueue", "&{", "%!", "context deadline", "RequestID"} {
		if strings.Contains(line, word) {
			t.Errorf("%q contains %q", line, word)
		}
	}
	contains(t, line, parts...)
}

// answering serves each request with an error of DynamoDB.
func answering(t *testing.T, code string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { refuses(w, code) }))
	t.Cleanup(s.Close)
	return s.URL
}

// chatter returns the address of a server that speaks first, and not HTTP.
func chatter(t *testing.T) string {
	t.Helper()
	listener := locktest.Must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "220 mail.example.com\r\n")
			go func() { _, _ = io.Copy(io.Discard, conn); conn.Close() }()
		}
	}()
	return listener.Addr().String()
}

// TestOutages checks that each failure of DynamoDB is one short line with a next step.
func TestOutages(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	html := httptest.NewServer(http.NotFoundHandler())
	defer html.Close()
	encrypted := httptest.NewUnstartedServer(http.NotFoundHandler())
	encrypted.Config.ErrorLog = log.New(io.Discard, "", 0)
	encrypted.StartTLS()
	defer encrypted.Close()
	for name, test := range map[string]struct {
		endpoint string
		parts    []string
	}{
		"denied":          {answering(t, "AccessDeniedException"), []string{"AWS denies dynamodb:", "policy"}},
		"expired":         {answering(t, "ExpiredTokenException"), []string{"credentials have expired: renew them"}},
		"bad key":         {answering(t, "UnrecognizedClientException"), []string{"refuses the AWS credentials: check"}},
		"other":           {answering(t, "ValidationException"), []string{"DynamoDB refused the request: many words", "(ValidationException); --verbose"}},
		"closed":          {closed.URL, []string{"nothing listens at 127.0.0.1:", "--endpoint"}},
		"web page":        {html.URL, []string{"not DynamoDB: check --endpoint"}},
		"unknown host":    {strings.Replace(closed.URL, "127.0.0.1", "localhost.invalid", 1), []string{`host "localhost.invalid" is not known`}},
		"no TLS":          {strings.Replace(html.URL, "http:", "https:", 1), []string{"does not speak TLS", "http in place of https"}},
		"no TLS nor HTTP": {"https://" + chatter(t), []string{"does not speak TLS"}},
		"no trust":        {encrypted.URL, []string{"certificate", "AWS_CA_BUNDLE"}},
	} {
		t.Run(name, func(t *testing.T) {
			set(t, "AWS_REGION=local", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_MAX_ATTEMPTS=1")
			shorten(t, &contactLimit, 100*time.Millisecond)
			shorten(t, &noticeAfter, time.Hour)
			for _, command := range []string{"run x --wait 0 -- true", "status x", "evict x --ticket 1", "create-table", "demo"} {
				mustBeShort(t, invoke(t, append(strings.Fields(command)[:1:1], append([]string{"--endpoint", test.endpoint}, strings.Fields(command)[1:]...)...)...), exitUnavailable, test.parts...)
			}
		})
	}
}

// TestVerboseErrors checks that --verbose adds what the line leaves out.
func TestVerboseErrors(t *testing.T) {
	o := invoke(t, "status", "x", "--endpoint", answering(t, "AccessDeniedException"), "--verbose")
	o.matches(t, exitUnavailable, "", `^([^\n]*\n){2}[^\n]*RequestID: R[^\n]*(many words ){39}[^\n]*\n$`)
}

// TestPatience checks that a command reports that it waits, and gives up when it said.
func TestPatience(t *testing.T) {
	listener := locktest.Must(net.Listen("tcp", "127.0.0.1:0")) // it accepts, and never answers
	defer listener.Close()
	if noticeAfter > 2*time.Second || actLimit > time.Minute || answerLimit > time.Minute {
		t.Error("the limits are too long")
	}
	shorten(t, &noticeAfter, 20*time.Millisecond)
	shorten(t, &answerLimit, 300*time.Millisecond)
	shorten(t, &actLimit, 300*time.Millisecond)
	shorten(t, &statusLimit, 300*time.Millisecond)
	for _, command := range []string{"create-table", "demo", "evict x --ticket 1", "status x", "ls", "sweep x"} {
		o := invoke(t, append(strings.Fields(command), "--endpoint", "http://"+listener.Addr().String())...)
		notice, rest, _ := strings.Cut(o.stderr, "\n")
		if want := fmt.Sprintf("queuelock: waiting for DynamoDB at %s, for at most 300ms", listener.Addr()); notice != want {
			t.Errorf("%s: %q, want %q", command, notice, want)
		}
		o.stderr = rest
		mustBeShort(t, o, exitUnavailable, "no answer from DynamoDB within 300ms", "--endpoint")
	}
}

// TestPatienceOfTries checks that a caller that will not queue receives within 3 s for each of
// its tries the error that nothing answers, and at once that nothing listens.
func TestPatienceOfTries(t *testing.T) {
	set(t, "AWS_REGION=local", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b")
	if tryLimit > 3*time.Second {
		t.Error("the limit is too long")
	}
	shorten(t, &tryLimit, 300*time.Millisecond)
	listener := locktest.Must(net.Listen("tcp", "127.0.0.1:0")) // it accepts, and never answers
	defer listener.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for endpoint, says := range map[string]string{
		"http://" + listener.Addr().String(): "no answer from DynamoDB in time",
		closed.URL:                           "nothing listens at",
	} {
		for wait, most := range map[string]time.Duration{"0": tryLimit, "2x10ms": 2 * tryLimit} {
			begun := time.Now()
			o := invoke(t, "run", "x", "--wait", wait, "--endpoint", endpoint, "--", "true")
			if took := time.Since(begun); took > most+time.Second {
				t.Errorf("%s: --wait %s took %v, want at most %v", says, wait, took, most)
			}
			mustBeShort(t, o, exitUnavailable, says)
		}
	}
	shorten(t, &contactLimit, time.Second)
	for _, wait := range []string{"100ms", "60s"} { // others try longer, but not for all of a long wait
		begun := time.Now()
		mustBeShort(t, invoke(t, "run", "x", "--wait", wait, "--endpoint", closed.URL, "--", "true"), exitUnavailable, "nothing listens at")
		if took := time.Since(begun); took > testLimit/2 {
			t.Errorf("--wait %s: it took %v", wait, took)
		}
	}
}

// TestSettingsFlags checks the flags and variables that name a region, a table and its keys.
func TestSettingsFlags(t *testing.T) {
	newEngine(t)
	t.Setenv("QUEUELOCK_TABLE", "from-environment")
	keys := []string{"--partition-key", "p", "--sort-key", "s"}
	for _, command := range [][]string{{"create-table"}, {"run", "x", "--", "true"}, {"status", "x"}} {
		args := append([]string{command[0]}, append(keys, command[1:]...)...)
		invoke(t, args...).ends(t, 0)
	}
	invoke(t, "status", "x").ends(t, exitUnavailable, `partition key "p"`)
	invoke(t, "status", "x", "--table", "queuelock").ends(t, 0)
	url, signed := signatures(t)
	invoke(t, "status", "x", "--endpoint", url, "--region", "eu-north-1")
	if got := signed(); !strings.Contains(got, "/eu-north-1/dynamodb/") {
		t.Errorf("signed as %q", got)
	}
	mustBeShort(t, invoke(t, "status", "x", "--endpoint", url, "--profile", "nosuch"), exitUnavailable, `no AWS profile "nosuch"`, "--profile")
}

// TestLongMessages checks that a message is shortened to a line.
func TestLongMessages(t *testing.T) {
	err := usagef("%s", strings.Repeat("é", 300)+"\nmore")
	if n := utf8.RuneCountInString(message(err)); n != maxLine || !strings.HasSuffix(details(err), "more") {
		t.Errorf("%d characters, and %q", n, details(err))
	}
	var b bytes.Buffer
	printDetails(newRoot(), &b, err)
	if b.Len() > 0 {
		t.Errorf("without --verbose it prints %q", b.String())
	}
}

// TestNextStep checks that the errors of a record that another program wrote, and of a socket, say what to do in one line.
func TestNextStep(t *testing.T) {
	e := newEngine(t)
	long := strings.Repeat("malformed/", 20)
	e.put(t, queuelock.Key{Entity: long, Reason: "lock"}, 0, map[string]types.AttributeValue{"ticketNumber": text("seven")})
	e.put(t, queuelock.Key{Entity: "full", Reason: "lock"}, 0, map[string]types.AttributeValue{"ticketNumber": number(ticket.Max.String())})
	mustBeShort(t, invoke(t, "status", long), exitUnavailable, "attribute ticketNumber is a string", "use another --reason")
	mustBeShort(t, invoke(t, "run", long, "-n", "--", "true"), exitUnavailable, "attribute ticketNumber is a string", "use another --reason")
	mustBeShort(t, invoke(t, "run", "full", "-n", "--", "true"), exitUnavailable, "exhausted", "use another --reason")
	t.Setenv("TMPDIR", "/no/such/directory")
	o := e.program(t, "lock", "x")
	text, err := o.CombinedOutput()
	if err == nil || !strings.Contains(string(text), "no socket for unlock: ") || !strings.Contains(string(text), "set TMPDIR to ") {
		t.Errorf("%v: %s", err, text)
	}
}

// refuses answers with an error of DynamoDB, and a long message.
func refuses(w http.ResponseWriter, code string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amzn-Requestid", "R")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"%s"}`, code, strings.Repeat("many words ", 40))
}

// TestOutageOfAWait checks that a wait outlives an outage, and says so once, and once more when it is over.
func TestOutageOfAWait(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refuse func(w http.ResponseWriter)
		says   string
	}{
		"expired keys":   {func(w http.ResponseWriter) { refuses(w, "ExpiredTokenException") }, "the AWS credentials have expired"},
		"a denied right": {func(w http.ResponseWriter) { refuses(w, "AccessDeniedException") }, "AWS denies"},
		"a web page":     {func(w http.ResponseWriter) { http.Error(w, "<html>blocked</html>", http.StatusForbidden) }, notDynamoDB},
	} {
		t.Run(name, func(t *testing.T) {
			e := inParallel(t)
			queued, lock := e.puts(), e.occupied(t, "x")
			read, write := pipe(t)
			e.env = append(e.env, "AWS_ACCESS_KEY_ID=waiter", "AWS_SECRET_ACCESS_KEY=x")
			cmd := e.waiter(t, queued, write, "--progress", "plain")
			var out atomic.Bool
			out.Store(true)
			var answered sync.Map // operations: the first request of each shows whether the right is there
			mine := func(w http.ResponseWriter, r *http.Request) bool {
				if !out.Load() || !strings.Contains(r.Header.Get("Authorization"), "Credential=waiter/") {
					return false
				}
				_, refused := answered.LoadOrStore(r.Header.Get("X-Amz-Target"), true)
				if refused {
					test.refuse(w)
				}
				return refused
			}
			e.instead.Store(&mine)
			lines := bufio.NewScanner(read)
			next := func(of string) (line string) {
				for lines.Scan() {
					if line = lines.Text(); !strings.Contains(line, "waiting for") {
						break
					}
				}
				if !strings.Contains(line, of) {
					t.Fatalf("%q, want %q", line, of)
				}
				return line
			}
			if line := next(test.says); !strings.HasSuffix(line, "; the wait goes on") {
				t.Error(line)
			}
			out.Store(false)
			next("DynamoDB answers again, after")
			locktest.Release(t, lock)
			exits(t, cmd, 0)
			if lines.Scan() && !strings.Contains(lines.Text(), "waiting for") {
				t.Errorf("and then %q", lines.Text())
			}
		})
	}
}

// TestRenewedCredentials checks that keys which an agent of the host writes into the file are used once the old ones are
// refused.
func TestRenewedCredentials(t *testing.T) {
	e := inParallel(t)
	file := filepath.Join(t.TempDir(), "credentials")
	keys := func(id string) {
		text := "[default]\naws_access_key_id = " + id + "\naws_secret_access_key = x\n"
		locktest.OK(t, os.WriteFile(file+".new", []byte(text), 0o600))
		locktest.OK(t, os.Rename(file+".new", file))
	}
	keys("old")
	e.env = append(e.env, "AWS_SHARED_CREDENTIALS_FILE="+file, "AWS_REGION=local")
	var changed, used atomic.Bool
	check := func(w http.ResponseWriter, r *http.Request) bool {
		signed := r.Header.Get("Authorization")
		old := changed.Load() && strings.Contains(signed, "Credential=old/")
		if old {
			refuses(w, "ExpiredTokenException")
		}
		used.Store(used.Load() || strings.Contains(signed, "Credential=new/"))
		return old
	}
	e.instead.Store(&check)
	cmd := e.program(t, "run", "x", "--ttl", "4s", "--", "sleep", "8")
	locktest.OK(t, cmd.Start())
	until(t, "it holds", func() bool { return len(e.state(t, "x").Serving) == 1 })
	keys("new")
	changed.Store(true)
	until(t, "the new keys are used", used.Load)
	exits(t, cmd, 0)
}

// TestSilentProvider checks how long a provider of credentials is waited for that says nothing, and that it is named.
func TestSilentProvider(t *testing.T) {
	silent := locktest.Must(net.Listen("tcp", "127.0.0.1:0"))
	defer silent.Close()
	shorten(t, &tryLimit, 300*time.Millisecond)
	shorten(t, &noticeAfter, time.Hour)
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://"+silent.Addr().String()+"/role")
	begun := time.Now()
	mustBeShort(t, invoke(t, "run", "x", "-n", "--", "true"), exitUnavailable, "no AWS credentials within 300ms from the provider of AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestLateProvider checks that a wait uses a provider that is not there at first.
func TestLateProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/role")
		begun := time.Now()
		provider := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			if time.Since(begun) < 30*time.Second {
				return aws.Credentials{}, errors.New("connection refused")
			}
			return aws.Credentials{AccessKeyID: "late"}, nil
		})
		for limit, late := range map[time.Duration]bool{
			patienceOf(waitpolicy.NoWait): true, patienceOf(waitpolicy.For(time.Second)): true,
			patienceOf(waitpolicy.For(40 * time.Second)): false, patienceOf(waitpolicy.Forever): false,
		} {
			begun = time.Now()
			p := newPatience(t.Context(), io.Discard, "the AWS credentials", limit)
			err := new(renewed).settled(p, aws.Config{Credentials: provider}, new(settings), false)
			p.end()
			if (err != nil) != late || late && !strings.Contains(err.Error(), "AWS_CONTAINER_CREDENTIALS_FULL_URI") {
				t.Errorf("within %v: after %v: %v", limit, time.Since(begun), err)
			}
		}
	})
}
