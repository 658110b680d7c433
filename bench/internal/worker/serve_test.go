package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/queuelock/queuelock/bench/internal/subject"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// fake is a subject whose locks are mutexes.
type fake struct {
	mu    sync.Mutex
	locks map[string]*sync.Mutex
}

func (f *fake) lock(key string) *sync.Mutex {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.locks[key] == nil {
		f.locks[key] = new(sync.Mutex)
	}
	return f.locks[key]
}

func (f *fake) Acquire(_ context.Context, key string) (scenario.Release, error) {
	lock := f.lock(key)
	lock.Lock()
	return func(context.Context) error { lock.Unlock(); return nil }, nil
}

func (f *fake) Try(_ context.Context, key string) (scenario.Release, error) {
	lock := f.lock(key)
	if !lock.TryLock() {
		return nil, nil
	}
	return func(context.Context) error { lock.Unlock(); return nil }, nil
}

// some is a number of cycles that is not known before.
const some = -1

// TestServe plays the life of a worker, one request after the other.
func TestServe(t *testing.T) {
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	served, profile := make(chan error), filepath.Join(t.TempDir(), "profile")
	go func() {
		of := subject.Subject{Open: func(context.Context, subject.Site) (scenario.Locker, error) {
			return &fake{locks: map[string]*sync.Mutex{}}, nil
		}}
		served <- Serve(of, profile, requests, answers)
	}()
	lines := bufio.NewScanner(out)
	for i, step := range []struct {
		request request
		ok      bool
		fails   bool
		cycles  int
	}{
		{request: request{Op: opOpen, Client: 1, Site: &subject.Site{}}},
		{request: request{Op: opAcquire, Client: 1, Key: "a"}, ok: true},
		{request: request{Op: opTry, Client: 1, Key: "a"}},
		{request: request{Op: opRelease, Client: 1, Lock: 2}},
		{request: request{Op: opTry, Client: 1, Key: "a"}, ok: true},
		{request: request{Op: opCycles, Client: 1, Work: &scenario.Work{Keys: 6, Concurrency: 3}}, cycles: 6},
		{request: request{Op: opContend, Client: 1, Crowd: &scenario.Crowd{Goroutines: 3, Seconds: 0.01}}, cycles: some},
		{request: request{Op: "unknown", Client: 1}, fails: true},
	} {
		step.request.ID = i + 1
		line, err := json.Marshal(step.request)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
		var got Answer
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &got) != nil {
			t.Fatalf("no answer to %s", line)
		}
		if got.ID != i+1 || got.OK != step.ok || (got.Error != "") != step.fails || got.Cycles != step.cycles && (step.cycles != some || got.Cycles == 0) {
			t.Errorf("%s was answered %s", line, lines.Text())
		}
	}
	in.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(profile); err != nil || len(text) == 0 {
		t.Errorf("a profile of %d bytes, error %v", len(text), err)
	}
}
