package subject

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/queuelock/queuelock/bench/internal/engine"
	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// Etcd is the mutex of go.etcd.io/etcd/client/v3/concurrency.
var Etcd = Subject{
	Subject: benchmark.Subject{
		Name:   "etcd",
		Title:  "etcd 3.7.3",
		Config: "one embedded server that does not wait for its disk (`UnsafeNoFsync`), as the DynamoDB engine keeps everything in memory; one session for a client, and one more for each further waiter of the same key",
	},
	Server: &Server{
		Server: engine.Etcd, Name: "etcd",
		Bare: func(_ context.Context, site Site) (func(context.Context) error, error) {
			client, err := connectEtcd(site)
			return func(ctx context.Context) error {
				_, err := client.Get(ctx, "a")
				return err
			}, err
		},
	},
	Open: func(_ context.Context, site Site) (scenario.Locker, error) {
		client, err := connectEtcd(site)
		if err != nil {
			return nil, err
		}
		e := &etcd{client: client, ttl: max(1, int(site.Lease/time.Second)), using: map[string]map[*concurrency.Session]bool{}}
		_, err = e.another()
		return e, err
	},
}

func connectEtcd(site Site) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{site.Server}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
}

// etcd shares sessions among keys. A session that asks for a lock which it has gets it
// at once, so goroutines that want one key need a session each.
type etcd struct {
	client *clientv3.Client
	ttl    int

	mu       sync.Mutex
	sessions []*concurrency.Session                   // guarded by mu
	using    map[string]map[*concurrency.Session]bool // guarded by mu; by key
}

func (e *etcd) Acquire(ctx context.Context, key string) (scenario.Release, error) {
	return e.acquire(ctx, key, (*concurrency.Mutex).Lock)
}

func (e *etcd) Try(ctx context.Context, key string) (scenario.Release, error) {
	release, err := e.acquire(ctx, key, (*concurrency.Mutex).TryLock)
	if errors.Is(err, concurrency.ErrLocked) {
		return nil, nil
	}
	return release, err
}

func (e *etcd) acquire(ctx context.Context, key string, lock func(*concurrency.Mutex, context.Context) error) (scenario.Release, error) {
	session, err := e.take(key)
	if err != nil {
		return nil, err
	}
	mutex := concurrency.NewMutex(session, key)
	if err := lock(mutex, ctx); err != nil {
		e.giveBack(key, session)
		return nil, err
	}
	return func(ctx context.Context) error {
		err := mutex.Unlock(ctx)
		e.giveBack(key, session)
		return err
	}, nil
}

// take returns a session that is not in use for the key.
func (e *etcd) take(key string) (*concurrency.Session, error) {
	for {
		if session := e.unused(key); session != nil {
			return session, nil
		}
		if _, err := e.another(); err != nil {
			return nil, err
		}
	}
}

func (e *etcd) unused(key string) *concurrency.Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.using[key] == nil {
		e.using[key] = map[*concurrency.Session]bool{}
	}
	if len(e.using[key]) == len(e.sessions) {
		return nil
	}
	for _, session := range slices.Backward(e.sessions) { // the newest is the most likely one
		if !e.using[key][session] {
			e.using[key][session] = true
			return session
		}
	}
	return nil
}

func (e *etcd) another() (*concurrency.Session, error) {
	session, err := concurrency.NewSession(e.client, concurrency.WithTTL(e.ttl))
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions = append(e.sessions, session)
	return session, nil
}

func (e *etcd) giveBack(key string, session *concurrency.Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.using[key], session)
	if len(e.using[key]) == 0 {
		delete(e.using, key)
	}
}
