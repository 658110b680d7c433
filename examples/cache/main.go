// Command cache prints the forecast of a city. Of all processes that need it, one asks the service. README.md shows how to run
// it.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal("cache: ", err)
	}
}

func run(ctx context.Context) (err error) {
	table := flag.String("table", cmp.Or(os.Getenv("QUEUELOCK_TABLE"), "queuelock"), "the table of the locks")
	city := flag.String("city", "Oslo", "the city")
	ttl := flag.Duration("ttl", time.Minute, "for how long an answer is used")
	flag.Parse()

	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	locks, err := queuelock.New(dynamodb.NewFromConfig(cfg), *table, queuelock.Config{})
	if err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, locks.Close(ending))
	}()
	f, err := cache{locks: locks, ttl: *ttl, ask: ask}.forecast(ctx, *city)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d degrees, asked at %s\n", *city, f.Degrees, f.Asked.Format(time.TimeOnly))
	return nil
}

// ask is the place for the call.
func ask(ctx context.Context, city string) (forecast, error) {
	fmt.Println("asking for", city)
	select {
	case <-time.After(5 * time.Second):
		return forecast{Degrees: len(city), Asked: time.Now()}, nil
	case <-ctx.Done():
		return forecast{}, context.Cause(ctx)
	}
}
