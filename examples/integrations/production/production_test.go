package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
)

// TestProduction runs the program of docs/production.md until it serves the metrics of a turn that has ended. Then it ends
// the program by a signal within a turn, and finds the lock released.
func TestProduction(t *testing.T) {
	server := httptest.NewServer(embedded.New(embedded.Config{}))
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": server.URL, "AWS_REGION": "local", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"QUEUELOCK_TABLE": "production",
	} {
		t.Setenv(name, value)
	}
	cfg, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db := dynamodb.NewFromConfig(cfg)
	if err := queuelock.CreateTable(t.Context(), db, "production", queuelock.Config{}); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	turns := 0
	err = run(t.Context(), listener, func(ctx context.Context, _ *queuelock.Lock) error {
		if turns++; turns == 1 {
			return nil
		}
		served := ""
		for until := time.Now().Add(20 * time.Second); !strings.Contains(served, "queuelock_hold_duration_seconds_count") && time.Now().Before(until); {
			served = get(t, "http://"+listener.Addr().String()+"/metrics")
		}
		for _, name := range []string{"queuelock_hold_duration_seconds_count", "queuelock_acquire_duration_seconds_count", "queuelock_losses_total", "queuelock_requests_total", "queuelock_capacity"} {
			if !strings.Contains(served, "\n"+name) {
				t.Errorf("there is no %s:\n%s", name, served)
			}
		}
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		if err := self.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil || turns != 2 {
		t.Errorf("%d turns, %v", turns, err)
	}
	viewer, err := queuelock.New(db, "production", queuelock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := viewer.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	state, err := viewer.Viewer().Inspect(t.Context(), queuelock.Key{Entity: "order-7"})
	if err != nil || !state.Idle() || state.Issued.IsZero() {
		t.Errorf("after the end: %+v, %v", state, err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return ""
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	return string(body)
}
