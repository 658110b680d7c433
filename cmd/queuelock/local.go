package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock/internal/embedded"
)

func newLocal() *cobra.Command {
	var port int
	var table string
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Serve an in-memory DynamoDB on 127.0.0.1, for development",
		Long: `Serves an in-memory DynamoDB on 127.0.0.1, for several processes to develop and try
things against. Nothing is kept when it ends, nothing is authenticated, and it is no
production store.

It creates the table first, so that "queuelock run" works at once. Then it prints the
line to export; it stops at SIGINT or SIGTERM, with exit code 0.

Exit codes:
  64   wrong usage
  69   the port is taken`,
		Example: `  queuelock local                    # in one terminal; then, in another, with the line it prints:
  export AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000 AWS_REGION=local …
  queuelock run greeting -- sleep 10

  queuelock local --port 0 --create-table ""     # any free port, no table`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if table != "" {
				if err := checkTable("--create-table", table); err != nil {
					return err
				}
			}
			return serveLocal(cmd, port, table)
		},
	}
	within(cmd.Flags(), &port, "port", "", 8000, 0, 65535, "the port to serve at; 0 picks a free one")
	cmd.Flags().StringVar(&table, "create-table", defaultTable(), "the `NAME` of the table to create at the start; empty: none")
	return cmd
}

func serveLocal(cmd *cobra.Command, port int, table string) (err error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s, err := serve(ctx, port)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := s.close(); err == nil && closeErr != nil {
			err = unavailable(closeErr)
		}
	}()
	if table != "" {
		db := connectLocal(s.url)
		err := createTable(ctx, db, table)
		db.close()
		if err != nil {
			return err
		}
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "# An in-memory DynamoDB listens at %s; nothing is kept when it ends (Ctrl-C).\n", s.url)
	if table != "" {
		fmt.Fprintf(out, "# It has the table %q. In another terminal:\n", table)
	}
	if _, err := fmt.Fprintf(out, "export %s\n", strings.Join(localSettings(s.url), " ")); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.ended:
		return unavailable(err)
	}
}

// shutdownLimit is how long requests under way may take to end. None takes
// longer than a computation, so only a client that does not read its answer
// can need it.
const shutdownLimit = 3 * time.Second

type server struct {
	http  *http.Server
	url   string
	ended chan error // what Serve returned
}

// serve starts an engine at that port of 127.0.0.1; port 0 is any free one.
// close must be called in the end.
func serve(ctx context.Context, port int) (*server, error) {
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
			Handler:           embedded.New(embedded.Config{}),
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
