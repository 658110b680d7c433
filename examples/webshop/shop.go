package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/httplock"
)

// shop places orders.
type shop struct {
	locks *queuelock.Client
	wait  time.Duration
	log   *slog.Logger
	// save places an order. It returns soon after ctx has ended, and sends the lock's
	// ticket with what it writes.
	save func(ctx context.Context, lock *queuelock.Lock) error
}

// handler returns the service. A request that does not get its turn in time is answered
// by the middleware: 409 for a busy customer and 503 for an outage, both with Retry-After.
func (s shop) handler() http.Handler {
	customer := func(r *http.Request) (queuelock.Key, bool) {
		return queuelock.Key{Entity: "customer-" + r.PathValue("customer")}, true
	}
	alone := httplock.New(s.locks, customer, s.wait, httplock.Config{OnError: func(r *http.Request, err error) {
		if !errors.Is(err, queuelock.ErrNotAcquired) {
			s.log.Warn("lock", "path", r.URL.Path, "err", err)
		}
	}})
	mux := http.NewServeMux()
	mux.Handle("POST /{customer}/orders", alone(http.HandlerFunc(s.placeOrder)))
	return mux
}

// placeOrder runs for one request of a customer at a time, over all processes.
func (s shop) placeOrder(w http.ResponseWriter, r *http.Request) {
	lock := httplock.FromContext(r.Context())
	if err := s.save(r.Context(), lock); err != nil {
		s.log.Warn("not saved", "path", r.URL.Path, "err", err)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the order was not saved", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintln(w, "order placed with ticket", lock.Ticket())
}
