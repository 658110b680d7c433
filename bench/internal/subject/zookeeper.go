package subject

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/queuelock/queuelock/bench/internal/engine"
	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// ZooKeeper is the lock recipe of ZooKeeper, by github.com/go-zookeeper/zk.
var ZooKeeper = Subject{
	Subject: benchmark.Subject{
		Name:   "zookeeper",
		Title:  "ZooKeeper (zk 1.0.4)",
		Config: "one server that does not wait for its disk (`forceSync=no`), with ticks of 1 s, which round the end of a session up; 2,000 cycles warm each server up; one session for a client; its lock has no fencing token",
		Skips:  map[string]string{"nowait": "its lock cannot ask without a node in the queue"},
	},
	Server: &Server{
		Server: engine.ZooKeeper, Name: "ZooKeeper",
		Bare: func(_ context.Context, site Site) (func(context.Context) error, error) {
			client, err := connectZooKeeper(site.Server, time.Minute)
			return func(context.Context) error {
				_, _, err := client.Exists("/a")
				return err
			}, err
		},
	},
	// A new Java machine runs slowly until its compiler has seen the code at work.
	Create: func(ctx context.Context, site Site) error {
		client, err := connectZooKeeper(site.Server, time.Minute)
		if err != nil {
			return err
		}
		defer client.Close()
		return scenario.Each(2000, 8, func(i int) error {
			release, err := zooKeeper{client}.Acquire(ctx, fmt.Sprintf("warm-%d", i%8))
			if err != nil {
				return err
			}
			return release(ctx)
		})
	},
	Open: func(_ context.Context, site Site) (scenario.Locker, error) {
		client, err := connectZooKeeper(site.Server, site.Lease)
		return zooKeeper{client}, err
	},
}

// connectZooKeeper returns a client that has its session.
func connectZooKeeper(address string, lease time.Duration) (*zk.Conn, error) {
	client, _, err := zk.Connect([]string{address}, lease, zk.WithLogger(silent{}))
	if err == nil {
		_, _, err = client.Exists("/")
	}
	return client, err
}

// silent drops what the client logs.
type silent struct{}

func (silent) Printf(string, ...any) {}

type zooKeeper struct{ client *zk.Conn }

func (z zooKeeper) Try(context.Context, string) (scenario.Release, error) {
	return nil, fmt.Errorf("ZooKeeper: %s", ZooKeeper.Skips["nowait"])
}

// Acquire waits on when ctx ends: the lock of this client cannot be interrupted.
func (z zooKeeper) Acquire(_ context.Context, key string) (scenario.Release, error) {
	lock := zk.NewLock(z.client, "/locks/"+key, zk.WorldACL(zk.PermAll))
	if err := lock.Lock(); err != nil {
		return nil, err
	}
	return func(context.Context) error { return lock.Unlock() }, nil
}
