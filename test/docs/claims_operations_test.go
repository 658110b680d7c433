package docs_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/failfast"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestChosenLeases computes the table of docs/configuration.md. TestHeartbeatOfTTL of package acquire measures heartbeats.
func TestChosenLeases(t *testing.T) {
	const page = "docs/configuration.md"
	for ttl, row := range map[time.Duration]string{
		10 * time.Second: "| 10 s | one every %v s | %v s |",
		time.Minute:      "| 60 s (default) | one every %v s | %v s |",
		10 * time.Minute: "| 10 min | one every %v min | %v min |",
	} {
		unit := map[bool]time.Duration{true: time.Minute, false: time.Second}[ttl > time.Minute]
		in := func(d time.Duration) int64 { return int64(d.Round(unit) / unit) }
		says(t, page, row, in(ttl/2), in(ttl-ttl/2-heartbeat.Margin(ttl)))
	}
}

// TestOutage measures what docs/operations.md says of clients while DynamoDB does not answer.
func TestOutage(t *testing.T) {
	const page = "docs/operations.md"
	ttl := time.Minute
	late := ttl - heartbeat.Margin(ttl)
	says(t, page, "by default %d s to %d s after the outage began", int((late - ttl/2).Round(time.Second).Seconds()), int(late.Round(time.Second).Seconds()))
	failed := func(ttl time.Duration, wait waitpolicy.Wait) (after time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			table := newTable(t)
			holds, _ := locktest.Open(t, table, "holds", queuelock.Config{})
			c, db := locktest.OpenMet(t, table, "c", queuelock.Config{TTL: ttl})
			held := locktest.Acquire(t, holds, waitpolicy.NoWait)
			defer locktest.Release(t, held)
			faults := make(chan *queuelocktest.Injection, 1)
			silent := func() { faults <- db.Inject(queuelocktest.SwallowRequest()) }
			if wait == waitpolicy.NoWait {
				silent()
			} else {
				time.AfterFunc(time.Second, silent)
			}
			begun := time.Now()
			if _, err := c.Acquire(t.Context(), order, wait); !errors.Is(err, queuelock.ErrUnavailable) {
				t.Errorf("%v, want ErrUnavailable", err)
			}
			after = time.Since(begun)
			(<-faults).Remove()
		})
		return after
	}
	says(t, page, "| `NoWait`, `run -n` | fails within %d s;", int(failed(ttl, waitpolicy.NoWait).Round(time.Second).Seconds()))
	const least = 30 * time.Second
	says(t, page, "when requests have failed for a `TTL`, at least %d s", int(least.Seconds()))
	for _, ttl := range []time.Duration{10 * time.Second, time.Minute, 2 * time.Minute} {
		if after, want := failed(ttl, waitpolicy.Forever), max(ttl, least); after < want || after > want+20*time.Second {
			t.Errorf("with a TTL of %v a waiter fails %v after the outage began, want %v to 20 s more", ttl, after, want)
		}
	}
}

// TestClientTable compares the settings of the SDK client in docs/operations-runtimes.md with those that package failfast
// makes, and with the SDK's.
func TestClientTable(t *testing.T) {
	const page = "docs/operations-runtimes.md"
	usual := awshttp.NewBuildableClient()
	fast := failfast.Config(aws.Config{}).HTTPClient.(*awshttp.BuildableClient).GetTransport()
	says(t, page, "| connecting | %v | %v |", usual.GetDialer().Timeout, connecting(t))
	says(t, page, "| TLS handshake | %v | %v |", usual.GetTransport().TLSHandshakeTimeout, fast.TLSHandshakeTimeout)
	says(t, page, "| answer to one attempt | none | %v |", fast.ResponseHeaderTimeout)
	if usual.GetTransport().ResponseHeaderTimeout != 0 {
		t.Error("the SDK has a limit for an answer")
	}
	says(t, page, "| idle connections | %d for a host, for %v | the same |", fast.MaxIdleConnsPerHost, fast.IdleConnTimeout)
	if pool := usual.GetTransport(); pool.MaxIdleConnsPerHost != fast.MaxIdleConnsPerHost || pool.IdleConnTimeout != fast.IdleConnTimeout {
		t.Error("the pools of connections differ")
	}
	says(t, page, "After a failure the library shortens the SDK's pause to a random time of up to %v.", table.LongestPause)
}

// connecting returns the bound that failfast sets for a dialler.
func connecting(t *testing.T) time.Duration {
	t.Helper()
	var bound time.Duration
	ended := errors.New("the dialler has its bound")
	bounded := failfast.Config(aws.Config{HTTPClient: awshttp.NewBuildableClient().WithTransportOptions(func(transport *http.Transport) {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			deadline, _ := ctx.Deadline()
			bound = time.Until(deadline)
			return nil, ended
		}
	})}).HTTPClient.(*awshttp.BuildableClient).GetTransport()
	if _, err := bounded.DialContext(t.Context(), "tcp", "dynamodb.invalid:443"); !errors.Is(err, ended) {
		t.Error(err)
	}
	return bound.Round(100 * time.Millisecond)
}

// TestQuietLog checks that a lock without trouble leaves records at Debug alone.
func TestQuietLog(t *testing.T) {
	for level, want := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			c, _ := locktest.Open(t, newTable(t), "c", queuelock.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))})
			held := locktest.Acquire(t, c, waitpolicy.NoWait)
			time.Sleep(time.Minute)
			locktest.Release(t, held)
			locktest.OK(t, c.Close(t.Context()))
			synctest.Wait()
			if wrote := log.Len() > 0; wrote != want {
				t.Errorf("at %v: %s", level, log.String())
			}
		})
	}
}
