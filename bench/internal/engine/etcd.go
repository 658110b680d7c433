package engine

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// StartEtcd starts this program again, to call ServeEtcd. dir is an empty folder.
func StartEtcd(ctx context.Context, dir string) (*Engine, error) {
	client, err := freeAddress()
	if err != nil {
		return nil, err
	}
	peer, err := freeAddress()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// It listens before it serves, but a connection waits until then.
	return start(ctx, exec.Command(self, "etcd-server", dir, client, peer), client, func() error {
		conn, err := net.DialTimeout("tcp", client, time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// ServeEtcd runs a server of etcd until its process is killed.
func ServeEtcd(dir, client, peer string) error {
	config := embed.NewConfig()
	config.Dir = dir
	config.LogLevel = "error"
	config.UnsafeNoFsync = true
	clients, peers := []url.URL{{Scheme: "http", Host: client}}, []url.URL{{Scheme: "http", Host: peer}}
	config.ListenClientUrls, config.AdvertiseClientUrls = clients, clients
	config.ListenPeerUrls, config.AdvertisePeerUrls = peers, peers
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	select {
	case err := <-server.Err():
		return err
	case <-server.Server.StopNotify():
		return errors.New("etcd has stopped")
	}
}
