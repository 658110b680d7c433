package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// refuses answers with an error of DynamoDB.
func refuses(w http.ResponseWriter, code string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amzn-Requestid", "R")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"injected"}`, code)
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
			code := e.waiter(t, queued, write, "--progress", "plain")
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
			if got := code(); got != 0 {
				t.Errorf("exit code %d", got)
			}
			if lines.Scan() && !strings.Contains(lines.Text(), "waiting for") {
				t.Errorf("and then %q", lines.Text())
			}
		})
	}
}

// TestRenewedCredentials checks that keys which an agent of the host writes into the file are used once the old ones are
// refused, by a wait and by a lock that is held.
func TestRenewedCredentials(t *testing.T) {
	t.Parallel()
	for _, held := range []bool{false, true} {
		t.Run(fmt.Sprint("held: ", held), func(t *testing.T) {
			e := inParallel(t)
			file := filepath.Join(t.TempDir(), "credentials")
			keys := func(id string) {
				locktest.OK(t, os.WriteFile(file+".new", []byte("[default]\naws_access_key_id = "+id+"\naws_secret_access_key = x\n"), 0o600))
				locktest.OK(t, os.Rename(file+".new", file))
			}
			keys("old")
			e.env = append(e.env, "AWS_SHARED_CREDENTIALS_FILE="+file, "AWS_REGION=local")
			var changed atomic.Bool
			used := make(chan bool, 1)
			check := func(w http.ResponseWriter, r *http.Request) bool {
				signed := r.Header.Get("Authorization")
				switch {
				case changed.Load() && strings.Contains(signed, "Credential=old/"):
					refuses(w, "ExpiredTokenException")
					return true
				case strings.Contains(signed, "Credential=new/"):
					select {
					case used <- true:
					default:
					}
				}
				return false
			}
			e.instead.Store(&check)
			finish := func() {}
			var code func() int
			if held {
				cmd := e.program(t, "run", "y", "--ttl", "4s", "--", "sleep", "8")
				locktest.OK(t, cmd.Start())
				code = func() int { return codeAfter(t, cmd) }
				until(t, "it holds", func() bool { return len(e.state(t, "y").Serving) == 1 })
			} else {
				queued, lock := e.puts(), e.occupied(t, "x")
				read, write := pipe(t)
				go func() { _, _ = io.Copy(io.Discard, read) }()
				code = e.waiter(t, queued, write)
				finish = func() { locktest.Release(t, lock) }
			}
			keys("new")
			changed.Store(true)
			select {
			case <-used:
			case <-time.After(testLimit):
				t.Fatal("the new keys are not used")
			}
			finish()
			if got := code(); got != 0 {
				t.Errorf("exit code %d", got)
			}
		})
	}
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
