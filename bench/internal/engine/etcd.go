package engine

import (
	"errors"
	"net/url"
	"os"
	"os/exec"

	"go.etcd.io/etcd/server/v3/embed"
)

// Etcd is this program, started again to call ServeEtcd.
var Etcd = Server{command: func(dir, address string) (*exec.Cmd, error) {
	peer, err := freeAddress()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	return exec.Command(self, "etcd-server", dir, address, peer), err
}}

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
