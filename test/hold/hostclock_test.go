package hold_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
)

// Wrong clocks are those of hosts, and the one in DynamoDB's Date header.
//
// In a bubble all goroutines share one clock. But a process sees only how its clock relates to the instants and
// durations that others send. So a host gets a clock of its own by a change of coordinates on its wire: each instant
// (Date, until, since, createdAt, expiresAt) and each duration (ttl) is converted in both directions. The table, its
// audit and the tests count in the bubble's time.
//
// That is exact for offsets and for the rates of leases, on which correctness depends. It is not for the library's own
// constants, by 200 µs in a second. What jumps is the host's whole clock, the monotonic one included, as in a virtual
// machine that is restored: a wall clock that is set alone is not seen by the library.

// host is one host's clock: fast by an offset, running fast by ppm, and set ahead by jump at an instant.
type host struct {
	offset time.Duration
	ppm    float64
	jump   time.Duration
	jumpAt time.Duration // since the start
}

// rate is how much of the bubble's time passes in one second of the host's.
func (h host) rate() float64 { return 1 / (1 + h.ppm/1e6) }

// shift is what the host's clock shows less what is right, apart from its rate.
func (h host) shift(now time.Duration) time.Duration {
	if h.jump != 0 && now >= h.jumpAt {
		return h.offset + h.jump
	}
	return h.offset
}

// scale is a length of the host's time in the bubble's.
func (h host) scale(d time.Duration) time.Duration {
	return time.Duration(math.Round(float64(d) * h.rate()))
}

// config is a Config in the host's own time.
func (h host) config(cfg queuelock.Config) queuelock.Config {
	cfg.TTL, cfg.WaiterTTL = h.scale(cfg.TTL), h.scale(cfg.WaiterTTL)
	cfg.HeartbeatInterval = h.scale(cfg.HeartbeatInterval)
	return cfg
}

// wire is a client's way to the table, that converts instants to its host's coordinates.
type wire struct {
	host
	start time.Time
	date  func(at time.Time) []string // the Date header of an answer; nil: the right one
	next  dynamodb.HTTPClient
}

// toHost converts a true instant to the host's coordinates, and true is the reverse.
func (w wire) toHost(at time.Time) time.Time {
	since := at.Sub(w.start)
	return w.start.Add(w.scale(since) - w.shift(time.Since(w.start)))
}

func (w wire) true(told time.Time) time.Time {
	since := told.Sub(w.start) + w.shift(time.Since(w.start))
	return w.start.Add(time.Duration(math.Round(float64(since) / w.rate())))
}

// Do sends a request.
func (w wire) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r := req.Clone(req.Context())
	body = w.convert(body, w.true, 1/w.rate())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	resp, err := w.next.Do(r)
	if err != nil {
		return nil, err
	}
	if body, err = io.ReadAll(resp.Body); err != nil {
		return nil, err
	}
	body = w.convert(body, w.toHost, w.rate())
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	resp.Header.Del("X-Amz-Crc32") // of another body
	if exact, err := time.Parse(time.RFC3339Nano, resp.Header.Get(exactDate)); err == nil && resp.Header.Get("Date") != "" {
		resp.Header["Date"] = []string{w.toHost(exact).UTC().Format(http.TimeFormat)}
		if w.date != nil {
			resp.Header["Date"] = w.date(w.toHost(exact))
		}
	}
	return resp, nil
}

// exactDate is a header with the table's clock for the wire, more exact than in whole seconds.
const exactDate = "X-Exact-Date"

// convert converts all instants and leases in a body. Instants are the numbers that lie
// within some years of the bubble's clock, which no ticket, beat or length does here.
func (w wire) convert(body []byte, instant func(time.Time) time.Time, length float64) []byte {
	if w.host == (host{}) {
		return body
	}
	var decoded any
	if err := json.Unmarshal(body, &decoded); err != nil {
		return body
	}
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case []any:
			for _, member := range v {
				walk(name, member)
			}
		case map[string]any:
			if text, ok := v["N"].(string); ok {
				n, err := strconv.ParseInt(text, 10, 64)
				switch {
				case err != nil:
				case name == "ttl":
					v["N"] = fmt.Sprint(int64(math.Round(float64(n) * length)))
				case near(time.UnixMilli(n)):
					v["N"] = fmt.Sprint(instant(time.UnixMilli(n)).UnixMilli())
				case near(time.Unix(n, 0)):
					v["N"] = fmt.Sprint(instant(time.Unix(n, 0)).Unix())
				}
				return
			}
			for key, member := range v {
				walk(key, member)
			}
		}
	}
	walk("", decoded)
	converted, err := json.Marshal(decoded)
	if err != nil {
		panic(err) // it was JSON before
	}
	return converted
}

func near(at time.Time) bool { return time.Since(at).Abs() < 10*365*24*time.Hour }
