package subject

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/queuelock/queuelock/bench/internal/engine"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// TestMain is the server of etcd if Etcd starts this program again.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "etcd-server" {
		_ = engine.ServeEtcd(os.Args[2], os.Args[3], os.Args[4])
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestServers lets two clients of each lock that has a server exclude each other, if that is installed.
func TestServers(t *testing.T) {
	for _, of := range All {
		if of.Server == nil {
			continue
		}
		t.Run(of.Name, func(t *testing.T) {
			if of.Server.Find != nil {
				if version, err := of.Server.Find(); err != nil {
					t.Skip(err)
				} else if version[len(version)-1] < '0' || version[len(version)-1] > '9' {
					t.Errorf("the version is %q", version)
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			server, err := of.Server.Start(ctx, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer server.Stop()
			site := Site{Server: server.Address, Lease: 10 * time.Second}
			read, err := of.Server.Bare(ctx, site)
			if err == nil {
				err = read(ctx)
			}
			if err == nil && of.Create != nil {
				err = of.Create(ctx, site)
			}
			if err != nil {
				t.Fatal(err)
			}
			exclude(ctx, t, of, site)
		})
	}
}

// exclude lets goroutines of two clients take turns, and asks for the lock that one has.
func exclude(ctx context.Context, t *testing.T, of Subject, site Site) {
	var holders atomic.Int32
	var turns sync.WaitGroup
	var clients [2]scenario.Locker
	for i := range clients {
		client, err := of.Open(ctx, site)
		if err != nil {
			t.Fatal(err)
		}
		clients[i] = client
	}
	for i := range 8 {
		turns.Go(func() {
			for range 5 {
				attempt, stop := context.WithTimeout(ctx, 5*time.Second)
				release, err := clients[i%2].Acquire(attempt, "a")
				if of.Name == Redis.Name && attempt.Err() != nil {
					stop() // its client can miss a release, and would wait on
					continue
				}
				defer stop()
				if err != nil {
					t.Error(err)
					return
				}
				if holders.Add(1) != 1 {
					t.Error("two have the lock at the same time")
				}
				time.Sleep(time.Millisecond)
				holders.Add(-1)
				if err := release(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	turns.Wait()
	if of.Skips["nowait"] != "" {
		return
	}
	held, err := clients[0].Try(ctx, "b")
	if err != nil || held == nil {
		t.Fatalf("a free lock was not granted: %v", err)
	}
	if second, err := clients[1].Try(ctx, "b"); err != nil || second != nil {
		t.Errorf("a lock that is held was granted (%v): %v", second != nil, err)
	}
	if err := held(ctx); err != nil {
		t.Error(err)
	}
}
