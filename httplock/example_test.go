package httplock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/httplock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// docs/guide.md repeats a part of this file.

// service returns the handler of a program.
func service(locks *queuelock.Client) http.Handler {
	byCustomer := func(r *http.Request) (queuelock.Key, bool) {
		return queuelock.Key{Entity: "customer-" + r.PathValue("customer")}, true
	}
	alone := httplock.New(locks, byCustomer, time.Second/2, httplock.Config{OnError: report})
	mux := http.NewServeMux()
	mux.Handle("POST /{customer}/orders", alone(http.HandlerFunc(placeOrder)))
	return mux
}

// report logs what an operator may want to know.
func report(r *http.Request, err error) {
	if !errors.Is(err, queuelock.ErrNotAcquired) {
		log.Print(r.URL.Path, ": ", err)
	}
}

// placeOrder runs for one request of a customer at a time. r.Context() ends when the lock is lost.
func placeOrder(w http.ResponseWriter, r *http.Request) {
	if err := save(r.Context(), httplock.FromContext(r.Context())); err != nil {
		http.Error(w, "not saved", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

// save is the program's own. It writes with the lock's ticket, or by lock.Transact.
func save(ctx context.Context, lock *queuelock.Lock) error {
	fmt.Println("an order of", lock.Key().Entity)
	return ctx.Err()
}

// A customer's orders are placed one at a time.
func Example() {
	ctx := context.Background()
	locks, err := queuelock.New(locktest.Memory(), "queuelock", queuelock.Config{})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(service(locks))
	defer server.Close()
	order := func(customer string) {
		answer, err := http.Post(server.URL+"/"+customer+"/orders", "application/json", nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, Retry-After %q\n", answer.Status, answer.Header.Get("Retry-After"))
		if err := answer.Body.Close(); err != nil {
			log.Fatal(err)
		}
	}

	order("anne")
	// Another process works for Bert.
	err = locks.Do(ctx, queuelock.Key{Entity: "customer-bert"}, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error {
		order("bert")
		return nil
	})
	if err := errors.Join(err, locks.Close(ctx)); err != nil {
		log.Fatal(err)
	}
	// Output:
	// an order of customer-anne
	// 201 Created, Retry-After ""
	// 409 Conflict, Retry-After "1"
}
