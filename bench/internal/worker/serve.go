package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"sync"

	"github.com/queuelock/queuelock/bench/internal/subject"
	"github.com/queuelock/queuelock/internal/workload/benchmark/library"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
	"github.com/queuelock/queuelock/internal/workload/crew"
)

// Serve is the whole life of a worker whose subject is written in Go. It writes a processor profile of it to the file
// profile, unless that is empty.
func Serve(of subject.Subject, profile string, in io.Reader, out io.Writer) error {
	if profile != "" {
		file, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	s := &server{of: of, post: crew.NewPost(in, out), clients: map[int]scenario.Locker{}, held: map[int]scenario.Release{}}
	for {
		var r request
		switch err := s.post.Read(&r); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		go s.answer(r)
	}
}

type server struct {
	of   subject.Subject
	post *crew.Post

	mu      sync.Mutex
	clients map[int]scenario.Locker // guarded by mu
	held    map[int]scenario.Release
}

func (s *server) answer(r request) {
	a, err := s.perform(context.Background(), r)
	a.ID = r.ID
	if err != nil {
		a.Error = err.Error()
	}
	s.post.Write(a)
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
		done, err := r.Work.Do(ctx, client)
		return Answer{Done: done}, err
	case opContend:
		done, err := r.Crowd.Do(ctx, client)
		return Answer{Done: done}, err
	case opUsage:
		return Answer{Usage: library.UsageOfProcess()}, nil
	}
	return Answer{}, fmt.Errorf("no operation %q", r.Op)
}

func (s *server) keep(id int, release scenario.Release) Answer {
	if release == nil {
		return Answer{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[id] = release
	return Answer{OK: true}
}
