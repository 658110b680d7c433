// Command production takes locks as docs/production.md does: with short time limits, with metrics at /metrics, and with an
// end at SIGTERM that leaves no lock behind. Start it twice, each with a -listen of its own, and kill one that works.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/failfast"
	"github.com/queuelock/queuelock/otelqueuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

func main() {
	address := flag.String("listen", "localhost:9464", "the address of /metrics")
	flag.Parse()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal("production: ", err)
	}
	if err := run(context.Background(), listener, pretend); err != nil {
		log.Fatal("production: ", err)
	}
}

// run works until SIGTERM.
func run(ctx context.Context, listener net.Listener, shipOrder turn) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	reader, err := otelprometheus.New() // for the default registry of package prometheus
	if err != nil {
		return err
	}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)) // of the service OTEL_SERVICE_NAME
	otel.SetMeterProvider(meters)                                      // before otelqueuelock.New
	routes := http.NewServeMux()
	routes.Handle("/metrics", promhttp.Handler())
	metrics := &http.Server{Handler: routes, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := metrics.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("no metrics are served", "error", err)
		}
	}()

	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	table := cmp.Or(os.Getenv("QUEUELOCK_TABLE"), "queuelock")
	db := dynamodb.NewFromConfig(failfast.Config(cfg), otelqueuelock.Instrument())
	locks, err := queuelock.New(db, table, queuelock.Config{
		Observer: otelqueuelock.New(),
		Logger:   slog.Default(),
	})
	if err != nil {
		return err
	}
	serve(ctx, locks, shipOrder) // calls Do until SIGTERM ends ctx
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(locks.Close(ending), meters.Shutdown(ending), metrics.Shutdown(ending))
}

// turn is what a process does while it holds the lock.
type turn func(context.Context, *queuelock.Lock) error

// serve takes one turn after the other.
func serve(ctx context.Context, locks *queuelock.Client, shipOrder turn) {
	for ctx.Err() == nil {
		err := locks.Do(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.For(3*time.Minute), shipOrder)
		if err != nil && ctx.Err() == nil {
			slog.Error("the order is not shipped", "error", err)
			pause(ctx, time.Second) // errors may come without a wait
		}
	}
}

// pretend is in place of your work. Its context ends when the lock is lost, and at SIGTERM.
func pretend(ctx context.Context, lock *queuelock.Lock) error {
	slog.Info("ships the order", "ticket", lock.Ticket())
	pause(ctx, 20*time.Second)
	return ctx.Err()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
