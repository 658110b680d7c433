package otelqueuelock_test

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/otelqueuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Metrics, spans and the log of a client. The providers of OpenTelemetry are the global ones.
func Example() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	db := dynamodb.NewFromConfig(cfg, otelqueuelock.Instrument())
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{
		Observer: otelqueuelock.New(), Logger: slog.Default(),
	})
	if err != nil {
		log.Fatal(err)
	}
	key := queuelock.Key{Entity: "order-7"}
	if err := locks.Do(ctx, key, waitpolicy.For(time.Minute), ship, otelqueuelock.WithTrace(ctx)); err != nil {
		log.Fatal(err)
	}
}

// Metrics for Prometheus. With OTLP only the reader is another one: sdkmetric.NewPeriodicReader with the exporter of
// go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp.
func ExampleNew() {
	ctx := context.Background()
	reader, err := otelprometheus.New() // for the default registry of package prometheus
	if err != nil {
		log.Fatal(err)
	}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	otel.SetMeterProvider(meters) // before otelqueuelock.New
	http.Handle("/metrics", promhttp.Handler())

	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	db := dynamodb.NewFromConfig(cfg, otelqueuelock.Instrument())
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{Observer: otelqueuelock.New()})
	if err != nil {
		log.Fatal(err)
	}
	work(locks)
	if err := errors.Join(locks.Close(ctx), meters.Shutdown(ctx)); err != nil { // in this order
		log.Print(err)
	}
}

func work(*queuelock.Client) {}

func ship(context.Context, *queuelock.Lock) error { return nil }
