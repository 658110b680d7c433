package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// local starts local with the flags, and sets the settings that it prints. end sends it a signal, and waits for it.
func local(t *testing.T, flags ...string) (said string, end func(syscall.Signal) outcome) {
	t.Helper()
	cmd := program(t, append([]string{"local", "--port", "0"}, flags...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	said = expect(t, launch(t, cmd), "AWS_SECRET_ACCESS_KEY=local\n")
	_, line, _ := strings.Cut(said, "\nexport ")
	set(t, strings.Fields(line)...)
	return said, func(sig syscall.Signal) outcome {
		locktest.OK(t, cmd.Process.Signal(sig))
		return outcome{code: codeAfter(t, cmd), stderr: stderr.String()}
	}
}

// TestLocal checks that local serves until it is interrupted.
func TestLocal(t *testing.T) {
	_, end := local(t)
	invoke(t, "run", "x", "--", "sh", "-c", "echo $QUEUELOCK_TICKET").prints(t, 0, "1\n")
	url := os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	mustBeShort(t, invoke(t, "local", "--port", port), exitUnavailable, "port "+port, "--port 0")
	end(syscall.SIGTERM).silent(t, 0)
	if response, err := http.Get(url); err == nil {
		response.Body.Close()
		t.Error("it still listens")
	}
}

// TestLocalKilled checks that the tickets go on where they were after a kill and after an orderly end.
func TestLocalKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "locks.db")
	for n, test := range []struct {
		end  syscall.Signal
		more []string
	}{{syscall.SIGKILL, nil}, {syscall.SIGTERM, nil}, {syscall.SIGKILL, []string{"--no-sync"}}, {syscall.SIGINT, []string{"--no-sync"}}} {
		said, end := local(t, append(test.more, "--file", file)...)
		contains(t, said, "keeps its tables in "+file+" ", "for this host alone, and no cluster")
		invoke(t, "run", "x", "--", "sh", "-c", "echo $QUEUELOCK_TICKET").prints(t, 0, string(rune('1'+n))+"\n")
		if o := end(test.end); test.end != syscall.SIGKILL && o.code != 0 {
			t.Errorf("after %v: %+v", test.end, o)
		}
	}
}

// TestLocalFileRefused checks that a file that is in use or of another program is named in one line, and left as it is.
func TestLocalFileRefused(t *testing.T) {
	dir := t.TempDir()
	used, notes := filepath.Join(dir, "used.db"), filepath.Join(dir, "notes.txt")
	_, end := local(t, "--file", used)
	defer end(syscall.SIGTERM)
	text := []byte("some notes\n")
	locktest.OK(t, os.WriteFile(notes, text, 0o600))
	for path, says := range map[string]string{
		used:  "is in use by another process\n$",
		notes: `is damaged, or no file of [^\n]*\n$`,
	} {
		o := invoke(t, "local", "--port", "0", "--file", path)
		o.matches(t, exitUnavailable, "", "^queuelock: "+path+" "+says)
	}
	if left := locktest.Must(os.ReadFile(notes)); !bytes.Equal(left, text) {
		t.Errorf("the notes are %q", left)
	}
}

// TestLocalContext checks that local ends with its context, and creates no table unless asked to.
func TestLocalContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := start(t, ctx, "local", "--port", "0", "--create-table", "")
	text := b.expect(t, "AWS_REGION=local")
	b.expect(t, " AWS_DEFAULT_REGION=local ") // for boto3
	_, rest, _ := strings.Cut(text, "AWS_ENDPOINT_URL_DYNAMODB=")
	url, _, _ := strings.Cut(rest, " ")
	db := connectLocal(url)
	defer db.close()
	out, err := db.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(out.TableNames) != 0 {
		t.Errorf("tables %v, %v; want none", out, err)
	}
	cancel()
	b.wait(t).silent(t, 0)
}
