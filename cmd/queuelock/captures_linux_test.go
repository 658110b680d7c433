package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

var update = flag.Bool("update", false, "write docs/captures, and the captures in docs/observe.md")

// TestCaptures compares the captures in the docs with what the commands print, but for
// numbers and times. With -update it writes them, from a scene that lasts longer.
func TestCaptures(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8")
	e := newEngine(t)
	s := newScene(t, e)
	s.age()
	captures := map[string]string{
		"status":  s.printed("status", "deploy/prod"),
		"ls":      s.printed("ls"),
		"top":     s.screen("3 of 4 queues busy", "top", "--interval", "200ms"),
		"history": s.history(),
	}
	page := locktest.Must(os.ReadFile("../../docs/observe.md"))
	for name, now := range captures {
		file := filepath.Join("../../docs/captures", name+".txt")
		block := regexp.MustCompile("(?s)(<!-- begin capture " + name + " -->\n```text\n)(.*?)(```\n<!-- end capture -->)")
		if *update {
			locktest.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
			locktest.OK(t, os.WriteFile(file, []byte(now), 0o644))
			page = block.ReplaceAllFunc(page, func(old []byte) []byte {
				part := block.FindSubmatch(old)
				return bytes.Join([][]byte{part[1], []byte(now), part[3]}, nil)
			})
			continue
		}
		old := locktest.Must(os.ReadFile(file))
		if shown := block.FindSubmatch(page); shown == nil || !bytes.Equal(shown[2], old) {
			t.Errorf("docs/observe.md does not show docs/captures/%s.txt: make captures", name)
		}
		if diff := cmp.Diff(shape(string(old)), shape(now)); diff != "" {
			t.Errorf("docs/captures/%s.txt is out of date, make captures writes it (-docs +now):\n%s", name, diff)
		}
	}
	if *update {
		locktest.OK(t, os.WriteFile("../../docs/observe.md", page, 0o644))
	}
}

// shape is a capture without what differs from run to run: numbers, times, charts, and the turns of a history.
func shape(capture string) string {
	var kept []string
	for _, line := range strings.Split(capture, "\n") {
		if strings.Contains(line, " waited ") || strings.ContainsAny(line, "│") || strings.Contains(line, " 0 s ") {
			continue
		}
		line = regexp.MustCompile(`, scan [^,]*$`).ReplaceAllString(line, "") // where the line may be cut
		if !strings.Contains(line, "holding") {
			line = regexp.MustCompile(`[▁▂▃▄▅▆▇█]`).ReplaceAllString(line, "")
		}
		line = regexp.MustCompile(`…?<?[0-9][0-9a-zµ:.TZ-]*( [KM]?B\b)?`).ReplaceAllString(line, "N")
		kept = append(kept, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(kept, "\n")
}

// capturedScene is a table with queues of each kind.
type capturedScene struct {
	t *testing.T
	e *engine
}

// newScene makes the scene.
func newScene(t *testing.T, e *engine) *capturedScene {
	t.Helper()
	client := func(owner string) *queuelock.Client {
		c := locktest.Must(queuelock.New(e.db, "queuelock", queuelock.Config{Owner: owner}))
		locktest.Must(c.Viewer().Inspect(t.Context(), queuelock.Key{Entity: "clock"})) // it knows the time from now on
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		return c
	}
	hold := func(owner string, entity string, opts ...queuelock.AcquireOption) *queuelock.Lock {
		c, key := client(owner), queuelock.Key{Entity: entity}
		return locktest.Must(c.Acquire(t.Context(), key, waitpolicy.For(testLimit), opts...))
	}
	hold("ci-7", "deploy/prod", queuelock.WithData([]byte("release 1.42 by ada")))
	for _, owner := range []string{"web-1", "web-2", "web-3"} {
		hold(owner, "report", queuelock.Shared())
	}
	hold("up-1", "upload", queuelock.Permits(3))
	locktest.OK(t, hold("cron-1", "nightly").Release(t.Context()))
	s := &capturedScene{t, e}
	for i, owner := range []string{"ci-8", "ci-9"} {
		c := client(owner)
		var waiting sync.WaitGroup
		waiting.Go(func() {
			_, _ = c.Acquire(t.Context(), queuelock.Key{Entity: "deploy/prod"}, waitpolicy.Forever)
		})
		t.Cleanup(func() { _ = c.Close(context.Background()); waiting.Wait() })
		until(t, "it waits", func() bool { return len(e.state(t, "deploy/prod").Waiting) > i }) // a row may be put twice
		s.age()
	}
	return s
}

// age lets the holders and the waiters of captures grow older.
func (s *capturedScene) age() {
	if *update {
		time.Sleep(2300 * time.Millisecond)
	}
}

func (s *capturedScene) printed(args ...string) string {
	s.t.Helper()
	o := invoke(s.t, args...)
	before, after, _ := strings.Cut(o.stderr, "\n")
	text := "$ queuelock " + strings.Join(args, " ") + "\n"
	for _, part := range []string{before, o.stdout, after} {
		if part != "" {
			text += strings.TrimSuffix(part, "\n") + "\n"
		}
	}
	return text
}

// screen returns what a terminal shows of a program, once it shows a text.
func (s *capturedScene) screen(text string, args ...string) string {
	s.t.Helper()
	cmd := program(s.t, args...)
	shown, expect, _ := screenOf(s.t, cmd)
	expect(text)
	for range 3 {
		s.age() // so that a view has a past
	}
	lines := shown.String()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		s.t.Fatal(err)
	}
	_ = codeAfter(s.t, cmd)
	lines = regexp.MustCompile(`\n{3,}`).ReplaceAllString(lines, "\n\n")
	return lines
}

// history observes three clients that take turns.
func (s *capturedScene) history() string {
	s.t.Helper()
	length, turn := "1s", 100*time.Millisecond
	if *update {
		length, turn = "8s", 700*time.Millisecond
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	var working sync.WaitGroup
	for _, owner := range []string{"cart-1", "cart-2", "cart-3"} {
		c := locktest.Must(queuelock.New(s.e.db, "queuelock", queuelock.Config{Owner: owner}))
		s.t.Cleanup(func() { _ = c.Close(context.Background()) })
		working.Go(func() {
			for ctx.Err() == nil {
				_ = c.Do(ctx, queuelock.Key{Entity: "stock"}, waitpolicy.Forever, func(ctx context.Context, _ *queuelock.Lock) error {
					select {
					case <-time.After(turn):
					case <-ctx.Done():
					}
					return nil
				})
			}
		})
	}
	defer func() { cancel(); working.Wait() }()
	args := []string{"history", "stock", "--for", length, "--interval", "100ms"}
	text := s.printed(args...)
	return regexp.MustCompile(`(?m)^not seen .*\n`).ReplaceAllString(text, "")
}
