package once_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/audit"
	"github.com/queuelock/queuelock/internal/testbed/transition"
	"github.com/queuelock/queuelock/queuelocktest"
)

type bodyKey struct{}

// judgedTable is a table whose changes are judged: by the rules of the protocol, and each as one of its writes.
func judgedTable(t *testing.T, opts ...queuelocktest.Option) *queuelocktest.Table {
	writes := transition.New("queuelock")
	watch := audit.New(embedded.Config{Applied: func(by *http.Request, changes []embedded.Change) {
		body, _ := by.Context().Value(bodyKey{}).([]byte)
		for _, problem := range writes.Judge(body, changes) {
			t.Error(problem)
		}
	}}, "queuelock", time.Now)
	t.Cleanup(func() {
		for _, violation := range watch.Violations() {
			t.Error(violation)
		}
		if writes.Made["RELEASE"] == 0 && !t.Failed() {
			t.Error("no RELEASE was judged")
		}
	})
	engine := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		watch.ServeHTTP(w, r)
	})
	return queuelocktest.NewTable(t, append(opts, queuelocktest.WithEngine(engine))...)
}
