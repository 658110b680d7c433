package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/queuelock/queuelock/ticket"
)

// newStore returns a store in an S3-compatible server in memory, which gets its requests
// through the handler that wrap returns.
func newStore(t *testing.T, wrap func(http.Handler) http.Handler) store {
	server := httptest.NewServer(wrap(gofakes3.New(s3mem.New()).Server()))
	t.Cleanup(server.Close)
	s := store{s3.New(s3.Options{
		Region: "local", BaseEndpoint: aws.String(server.URL), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}), "reports"}
	if _, err := s.client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &s.bucket}); err != nil {
		t.Fatal(err)
	}
	return s
}

func direct(h http.Handler) http.Handler { return h }

// add appends a line, after it was read and meanwhile was called.
func (s store) add(t *testing.T, token ticket.Number, line string, meanwhile func()) error {
	return s.update(t.Context(), "sales.json", token, func(lines []string) ([]string, error) {
		meanwhile()
		return append(lines, line), nil
	})
}

func nothing() {}

func (s store) lines(t *testing.T) (lines []string) {
	t.Helper()
	err := s.update(t.Context(), "sales.json", ticket.Max, func(now []string) ([]string, error) {
		lines = now
		return nil, errRead
	})
	if !errors.Is(err, errRead) {
		t.Fatal(err)
	}
	return lines
}

var errRead = errors.New("only read")

// TestFence lets a holder write that was evicted and does not know it: its ticket is lower.
func TestFence(t *testing.T) {
	late, next := ticket.FromUint64(7), ticket.FromUint64(8)
	for name, before := range map[string]string{"OfAnObject": "a", "OfNoObject": ""} {
		// The late writer has read, and puts after the next holder has put the same lines.
		t.Run("RefusesALatePut"+name, func(t *testing.T) {
			s := newStore(t, direct)
			if before != "" {
				if err := s.add(t, late, before, nothing); err != nil {
					t.Fatal(err)
				}
			}
			err := s.add(t, late, "late", func() {
				if err := s.update(t.Context(), "sales.json", next, func(lines []string) ([]string, error) { return lines, nil }); err != nil {
					t.Fatal(err)
				}
			})
			if !errors.Is(err, errFenced) || slices.Contains(s.lines(t), "late") {
				t.Errorf("%v; the object has %q", err, s.lines(t))
			}
		})
	}
	t.Run("RefusesALateRead", func(t *testing.T) {
		s := newStore(t, direct)
		if err := s.add(t, next, "b", nothing); err != nil {
			t.Fatal(err)
		}
		if err := s.add(t, late, "late", nothing); !errors.Is(err, errFenced) {
			t.Errorf("%v, want %v", err, errFenced)
		}
	})
	t.Run("KeepsTheLastPutOfTheEarlierHolder", func(t *testing.T) {
		s := newStore(t, direct)
		meanwhile := func() {
			if len(s.lines(t)) == 0 {
				if err := s.add(t, late, "a", nothing); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.add(t, next, "b", meanwhile); err != nil {
			t.Fatal(err)
		}
		if got := s.lines(t); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("the object has %q", got)
		}
	})
	t.Run("AddsOnceAfterALostAnswer", func(t *testing.T) {
		lost := false
		s := newStore(t, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut && r.URL.Path == "/reports/sales.json" && !lost {
					lost = true
					h.ServeHTTP(httptest.NewRecorder(), r)
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				h.ServeHTTP(w, r)
			})
		})
		if err := s.add(t, late, "a", nothing); err != nil {
			t.Fatal(err)
		}
		if got := s.lines(t); !lost || !slices.Equal(got, []string{"a"}) {
			t.Errorf("the object has %q", got)
		}
	})
}
