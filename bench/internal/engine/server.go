package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Server is the server of locks that are not in DynamoDB.
type Server struct {
	// Find returns the server's name and version, and an error that names the package to install. Nil: it is in this program.
	Find func() (string, error)

	// command returns what serves at the address with its files in dir, which is empty.
	command func(dir, address string) (*exec.Cmd, error)
	// hello is what a server answers with a text that contains ready once it serves. Empty: it serves whom it lets connect.
	hello, ready string
}

// Start starts a server that has its files in the empty folder dir.
func (s Server) Start(ctx context.Context, dir string) (*Engine, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	command, err := s.command(dir, address)
	if err != nil {
		return nil, err
	}
	return start(ctx, command, address, func() error {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Second)) // a server that starts may never answer
		if s.hello == "" {
			return nil
		}
		if _, err := io.WriteString(conn, s.hello); err != nil {
			return err
		}
		answer, err := io.ReadAll(conn)
		if err == nil && !strings.Contains(string(answer), s.ready) {
			err = fmt.Errorf("it answers %q", answer)
		}
		return err
	})
}

// Redis is a server of Redis that writes nothing to the disk.
var Redis = Server{
	Find: func() (string, error) {
		answer, err := exec.Command("redis-server", "--version").Output()
		if err != nil {
			return "", errors.New("install Debian's package redis-server")
		}
		_, rest, _ := strings.Cut(string(answer), " v=")
		version, _, _ := strings.Cut(rest, " ")
		return "Redis " + version, nil
	},
	command: func(dir, address string) (*exec.Cmd, error) {
		host, port, err := net.SplitHostPort(address)
		return exec.Command("redis-server", "--bind", host, "--port", port, "--dir", dir, "--save", "", "--appendonly", "no"), err
	},
}

// ZooKeeper is one server of ZooKeeper that does not wait for its disk. It takes sessions of 2 s to an hour.
var ZooKeeper = Server{
	Find: func() (string, error) {
		jar, err := zooKeeperJar()
		return "ZooKeeper " + strings.TrimPrefix(strings.TrimSuffix(filepath.Base(jar), ".jar"), "zookeeper-"), err
	},
	command: func(dir, address string) (*exec.Cmd, error) {
		jar, err := zooKeeperJar()
		if err != nil {
			return nil, err
		}
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		name := filepath.Join(dir, "zoo.cfg")
		config := fmt.Sprintf("dataDir=%s\nclientPortAddress=%s\nclientPort=%s\ntickTime=1000\nmaxSessionTimeout=3600000\nmaxClientCnxns=0\n"+
			"admin.enableServer=false\nforceSync=no\n", filepath.Join(dir, "data"), host, port)
		return exec.Command("java", "-cp", jar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", name), os.WriteFile(name, []byte(config), 0o600)
	},
	hello: "srvr", ready: "Mode: ",
}

// zooKeeperJar returns the jar of Debian's package, by the name that has its version. Its manifest names the other jars.
func zooKeeperJar() (string, error) {
	_, err := exec.LookPath("java")
	jars, _ := filepath.Glob("/usr/share/java/zookeeper-[0-9]*.jar")
	if err != nil || len(jars) == 0 {
		return "", errors.New("install Debian's package zookeeper")
	}
	return jars[0], nil
}
