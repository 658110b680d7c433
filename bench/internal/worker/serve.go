package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/queuelock/queuelock/bench/internal/subject"
)

// Serve is the whole life of a worker whose subject is written in Go.
func Serve(of subject.Subject, in io.Reader, out io.Writer) error {
	s := &server{of: of, out: json.NewEncoder(out), clients: map[int]subject.Locker{}, held: map[int]subject.Release{}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		go s.answer(r)
	}
	return lines.Err()
}

type server struct {
	of subject.Subject

	mu      sync.Mutex
	out     *json.Encoder          // guarded by mu
	clients map[int]subject.Locker // guarded by mu
	held    map[int]subject.Release
}

func (s *server) answer(r request) {
	a, err := s.perform(context.Background(), r)
	a.ID = r.ID
	if err != nil {
		a.Error = err.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(a) // the reader has gone if it fails, and this process is about to
}

func (s *server) perform(ctx context.Context, r request) (Answer, error) {
	s.mu.Lock()
	client := s.clients[r.Client]
	s.mu.Unlock()
	switch r.Op {
	case opOpen:
		client, err := s.of.Open(ctx, *r.Site)
		s.mu.Lock()
		s.clients[r.Client] = client
		s.mu.Unlock()
		return Answer{}, err
	case opAcquire:
		release, err := client.Acquire(ctx, r.Key)
		return s.keep(r.ID, release), err
	case opTry:
		release, err := client.Try(ctx, r.Key)
		return s.keep(r.ID, release), err
	case opRelease:
		s.mu.Lock()
		release := s.held[r.Lock]
		delete(s.held, r.Lock)
		s.mu.Unlock()
		return Answer{}, release(ctx)
	case opCycles:
		return cycles(ctx, client, *r.Work)
	case opUsage:
		return usage(), nil
	}
	return Answer{}, fmt.Errorf("no operation %q", r.Op)
}

func (s *server) keep(id int, release subject.Release) Answer {
	if release == nil {
		return Answer{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[id] = release
	return Answer{OK: true}
}

// cycles measures the processor time of many locks without contention.
func cycles(ctx context.Context, client subject.Locker, work Work) (Answer, error) {
	begun := time.Now()
	end := begun.Add(time.Duration(work.Seconds * float64(time.Second)))
	before := processorSeconds()
	done := make([]int, work.Concurrency)
	errs := make(chan error, work.Concurrency)
	var loops sync.WaitGroup
	for i := range work.Concurrency {
		loops.Go(func() {
			for n := i; n < work.Keys || time.Now().Before(end); n += work.Concurrency {
				release, err := client.Acquire(ctx, "key-"+strconv.Itoa(n%work.Keys))
				if err == nil {
					err = release(ctx)
				}
				if err != nil {
					errs <- err
					return
				}
				done[i]++
			}
		})
	}
	loops.Wait()
	a := Answer{Seconds: time.Since(begun).Seconds(), CPUSeconds: processorSeconds() - before}
	for _, n := range done {
		a.Cycles += n
	}
	select {
	case err := <-errs:
		return a, err
	default:
		return a, nil
	}
}

// processorSeconds returns what this process has used so far.
func processorSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return time.Duration(t.Nano()).Seconds() }
	return seconds(used.Utime) + seconds(used.Stime)
}

func usage() Answer {
	runtime.GC()
	runtime.GC() // what pools keep goes with the second
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return Answer{Memory: memory.HeapAlloc + memory.StackInuse, Goroutines: runtime.NumGoroutine()}
}
