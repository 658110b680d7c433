package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// shutdownLimit is how long requests under way may take to end. None takes
// longer than a computation and a commit, so only a client that does not read
// its answer can need it.
const shutdownLimit = 3 * time.Second

// server serves an engine on a loopback port.
type server struct {
	http  *http.Server
	url   string
	ended chan error // what Serve returned
}

// serve serves an engine at that port of 127.0.0.1; port 0 is any free one.
// close must be called in the end.
func serve(ctx context.Context, port int, engine http.Handler) (*server, error) {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, unavailable(errors.New("port " + strconv.Itoa(port) + " of 127.0.0.1 is in use: choose another with --port, or any free one with --port 0"))
	case err != nil:
		return nil, unavailable(err)
	}
	s := &server{
		http: &http.Server{
			Handler:           engine,
			ReadHeaderTimeout: 10 * time.Second,
			ErrorLog:          log.New(io.Discard, "", 0), // clients that were killed are no news
		},
		url:   "http://" + listener.Addr().String(),
		ended: make(chan error, 1),
	}
	go func() { s.ended <- s.http.Serve(listener) }()
	return s, nil
}

// close lets requests under way end, and stops the server.
func (s *server) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}
